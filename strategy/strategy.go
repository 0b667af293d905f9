// Package strategy decides which instance of a job gets which items. It holds the
// algorithms of ElasticJob, with exactly its results, and the check that every
// result has to pass, wherever it comes from. It does not choose the instances: the
// caller passes only those that may get items, and the caller alone writes the
// result.
//
// Flow: the leader wants an assignment → Named finds the Strategy of the job's
// configuration → Assign → Check → the leader commits.
package strategy

import (
	"context"
	"errors"
	"fmt"
)

// MaxTotal is the largest sharding total count that is assigned. One transaction of
// the registry could not hold many more items.
const MaxTotal = 100_000

// Request holds everything that a strategy may use.
type Request struct {
	Job string
	// Instances are the ids of the members that may be given items, in the
	// registry's order: descending by UTF-16 code units. Strategies use the
	// order as it comes.
	Instances []string
	Total     int // items are 0 to Total-1
	// Previous are the items that each of Instances has now, by index; nil if
	// that isn't known. The built-in strategies don't look at it.
	Previous [][]int
}

// Strategy assigns the items of a job to its instances.
type Strategy interface {
	// Assign returns the items of each instance, by its index in r.Instances.
	// It changes nothing that r refers to.
	Assign(ctx context.Context, r Request) ([][]int, error)
}

// Func is a Strategy made of one function.
type Func func(ctx context.Context, r Request) ([][]int, error)

// Assign calls f.
func (f Func) Assign(ctx context.Context, r Request) ([][]int, error) { return f(ctx, r) }

var errNoInstances = errors.New("there is no instance to assign items to")

// assign assigns the items to the instances in the given order of their indexes:
// first an equal block to each, then the remaining items one by one from the front.
//
// An id that occurs twice counts as two when blocks are cut but has one result, at
// its first index, where the later block replaces the earlier: in ElasticJob
// results are keyed by id. Items may get lost that way; Check reports them.
func assign(r Request, order []int) ([][]int, error) {
	n := len(order)
	result := make([][]int, n)
	if n == 0 {
		return result, nil
	}
	if r.Total < 0 || r.Total > MaxTotal {
		return nil, fmt.Errorf("assign items of job %q: total %d is not in 0..%d", r.Job, r.Total, MaxTotal)
	}
	first := make(map[string]int, n)
	for i, id := range r.Instances {
		if _, known := first[id]; !known {
			first[id] = i
		}
	}
	each, rest := r.Total/n, r.Total%n
	takers := make([]int, 0, n)
	for pos, i := range order {
		block := make([]int, each, each+1)
		for k := range block {
			block[k] = pos*each + k
		}
		to := first[r.Instances[i]]
		if result[to] == nil {
			takers = append(takers, to)
		}
		result[to] = block
	}
	for pos, to := range takers[:min(rest, len(takers))] {
		result[to] = append(result[to], each*n+pos)
	}
	return result, nil
}
