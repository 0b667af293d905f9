package jobtree_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/wasmjob/wasmjob/host/internal/layout/jobtree"
	"github.com/wasmjob/wasmjob/host/internal/layout/spelling"
	"github.com/wasmjob/wasmjob/host/internal/layout/v21"
	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/registry"
)

const mostItems = 100_000

// sent returns about the size of ops as ZooKeeper receives them, with the longest ACL, that
// of a digest. A deletion has none.
func sent(ops []registry.Op) int {
	n := 0
	for _, op := range ops {
		if n += 20 + len(op.Path) + len(op.Data); op.Kind != registry.Delete {
			n += 70
		}
	}
	return n
}

// scattered returns an assignment in which no two neighbours have the same owner.
func scattered(members int) protocol.Assignment {
	a := protocol.Assignment{Exists: true, Version: 7, Total: mostItems}
	for k := range members {
		a.Members = append(a.Members, protocol.ID(fmt.Sprintf("192.168.%d.%d@-@%d", k/100, k%100, 10_000+k)))
	}
	for i := range mostItems {
		a.Owners = append(a.Owners, a.Members[i*7%members])
		a.Last = append(a.Last, 1_700_000_000_000+int64(i%50)*1000)
		a.Begun = append(a.Begun, 1_700_000_000_000+int64(i%50)*1000)
	}
	return a
}

// Whatever a strategy does with the items of the largest job, each value fits into a node,
// and what the core writes at once fits into a transaction.
func TestLargestJob(t *testing.T) {
	t.Parallel()
	a := scattered(300)
	worst := a
	for i := range mostItems {
		worst.Ended = append(worst.Ended, 1_700_000_000_000+int64(i)*int64(i))
	}
	if n := len(spelling.EncodeAssignment(&worst)); n > spelling.MaxBytes {
		t.Errorf("an assignment whose items all ended at different times has %d bytes", n)
	}
	text := spelling.EncodeAssignment(&a)
	if len(text) > 550<<10 {
		t.Errorf("a scattered assignment has %d bytes", len(text))
	}
	a.Version = 0
	back, err := spelling.DecodeAssignment(text)
	if diff := cmp.Diff(a, back, cmpopts.EquateEmpty()); diff != "" || err != nil {
		t.Errorf("it does not come back: %v\n%.500s", err, diff)
	}

	self := a.Members[3]
	var d protocol.RunsData
	for i, owner := range a.Owners {
		if owner == self || i%4 == 0 {
			d.Open = append(d.Open, protocol.Entry{Item: i, Instant: 1_700_000_000_000, Cause: protocol.Scheduled, Attempt: 1, Begun: 1_700_000_000_003})
			d.Last = append(d.Last, 1_700_000_000_000)
		} else {
			d.Last = append(d.Last, 0)
		}
	}
	if text := spelling.EncodeRuns(&d); len(text) > spelling.MaxBytes/2 {
		t.Errorf("a record with %d scattered runs has %d bytes", len(d.Open), len(text))
	}

	j := v21.NewJob("a/namespace/of/some/length", strings.Repeat("job", 20))
	v := &protocol.View{Assignment: a}
	m := protocol.Owners{Last: true}
	for i := range j.MaxNodes() * 3 / 4 { // two nodes each
		m.Write = append(m.Write, 90_000+i)
	}
	if n := sent(j.Encode(m, v)); n > 1<<20 || n < spelling.MaxBytes/2 {
		t.Errorf("a part of a reshard has %d bytes", n)
	}
	begin := protocol.Begin{Self: self, Monitor: true}
	for i := range j.MaxNodes() {
		begin.Begun = append(begin.Begun, i)
	}
	if n := sent(j.Encode(begin, v)); n > spelling.MaxBytes {
		t.Errorf("a begin has %d bytes", n)
	}
}

// Where two nodes name the taker of a run, its end deletes both, and the core counts one.
// The ends that it writes at once fit all the same, since deletions are small.
func TestLargestEndOfTakenRuns(t *testing.T) {
	t.Parallel()
	j := jobtree.New(added{}, "a/namespace/of/some/length", strings.Repeat("job", 20))
	m := protocol.Complete{Self: alive}
	var numbers []string
	for i := range j.MaxNodes() {
		m.Items = append(m.Items, i)
		numbers = append(numbers, strconv.Itoa(i))
	}
	d := j.NewDecoder(nil)
	d.Apply(j.Root()+"/sharding", registry.Node{Exists: true, Children: numbers})
	taker := registry.Node{Exists: true, Data: []byte(alive)}
	held := taker
	held.Stat.Owner = 7
	d.Apply(j.Root()+"/wasm/members/"+alive, held)
	for _, number := range numbers {
		d.Apply(j.Root()+"/sharding/"+number+"/failover", held)
		d.Apply(j.Root()+"/sharding/"+number+"/failovering", taker)
	}
	ops := j.Encode(m, d.View())
	if len(ops) < 2*len(m.Items) {
		t.Fatalf("%d ops end %d runs", len(ops), len(m.Items))
	}
	if n := sent(ops) + spelling.MaxValues; n > 1<<20 {
		t.Errorf("the end of %d runs that were taken over has %d bytes", len(m.Items), n)
	}
}
