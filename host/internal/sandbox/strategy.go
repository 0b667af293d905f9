package sandbox

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tetratelabs/wazero/sys"

	"github.com/wasmjob/wasmjob/abi"
	"github.com/wasmjob/wasmjob/host/job"
)

const (
	// strategyFuel and strategyFuelPerItem end a strategy at the same point on
	// every server. They are for a second or two of work: each deal goes through
	// all items and instances a few times, with room for a slow language.
	strategyFuel        = 1_000_000_000
	strategyFuelPerItem = 10_000
	// strategyTime is what the host waits at most for one deal, for the case
	// that a machine is so slow that the fuel does not end. By then it would
	// no longer be of use.
	strategyTime = 30 * time.Second
	// maxNamed bounds the items that an error lists.
	maxNamed = 100
)

// ShardFault says what is wrong with what a strategy did.
type ShardFault string

// The faults of a ShardError.
const (
	ShardMissing ShardFault = "missing" // items were given to nobody
	ShardTwice   ShardFault = "twice"   // items were given more than once
	ShardDiffers ShardFault = "differs" // two runs with the same input dealt differently
	ShardCode    ShardFault = "code"    // it says itself that it failed
	ShardTrap    ShardFault = "trap"    // a trap, an exit, or it could not be started
	ShardFuel    ShardFault = "fuel"    // it used up its fuel
	ShardTime    ShardFault = "time"    // it used up the host's patience
)

// ShardError is the error of Shard for a strategy's own fault.
type ShardError struct {
	Fault ShardFault
	Items []int // that are missing, twice or differ; at most the first hundred
	Code  int32 // what the entry returned
	Text  string
}

// Error says what is wrong, and with which items.
func (s *ShardError) Error() string {
	if len(s.Items) == 0 {
		return s.Text
	}
	names := make([]string, len(s.Items))
	for i, item := range s.Items {
		names[i] = strconv.Itoa(item)
	}
	return s.Text + " " + joinNames(names)
}

// Shard asks a strategy for the owner of each item, as indexes of c.Instances.
// It runs twice on fresh instances, with nothing but its input, and the two
// must agree. A fault of the strategy is a *ShardError; whoever calls decides
// who deals instead. There must be an instance to deal to.
func (e *Engine) Shard(ctx context.Context, m *Module, c job.ShardCall) ([]int, error) {
	if len(c.Instances) == 0 || c.Total < 1 {
		return nil, errors.New("there is nothing to deal out, or nobody to deal to")
	}
	if !e.beginUse() {
		return nil, ErrClosed
	}
	defer e.runs.Done()
	if !m.c.addUser() {
		return nil, fmt.Errorf("module %s was closed", m.c.digest)
	}
	defer m.c.removeUser()
	if !m.c.exports(abi.ExportShard) {
		return nil, fmt.Errorf("module %s is not a strategy; it can be: %s", m.c.digest, strings.Join(m.c.report.Kinds, ", "))
	}
	first, err := m.c.assignOnce(ctx, c)
	if err != nil {
		return nil, err
	}
	c.Log = nil // the second says the same
	second, err := m.c.assignOnce(ctx, c)
	if err != nil {
		return nil, err
	}
	if !slices.Equal(first, second) {
		return nil, &ShardError{
			Fault: ShardDiffers, Items: differing(first, second),
			Text: "two runs of the strategy with the same input do not agree on the items",
		}
	}
	return first, nil
}

// assignOnce is one of the two runs.
func (c *compilation) assignOnce(ctx context.Context, sc job.ShardCall) ([]int, error) {
	r := newShardRun(c, &sc)
	end := r.open(ctx)
	defer end()
	if err := r.attach(true); err != nil {
		return nil, r.shardFailed(ctx, callResult{err: err})
	}
	res := r.callEntry(abi.ExportShard, abi.InShard)
	r.collectUsage()
	r.log.logDroppedAtEnd(ctx)
	if r.memoryErr != nil {
		// On a server with more memory it might deal otherwise.
		return nil, fmt.Errorf("deal out the items: %w", r.memoryErr)
	}
	if res.err != nil || res.code != abi.ResultOK {
		return nil, r.shardFailed(ctx, res)
	}
	if twice := r.assignment.assignedTwice; len(twice) > 0 {
		slices.Sort(twice)
		return nil, &ShardError{Fault: ShardTwice, Items: slices.Compact(twice), Text: "the strategy gave items more than once:"}
	}
	if missing := r.assignment.missing(); len(missing) > 0 {
		return nil, &ShardError{
			Fault: ShardMissing, Items: missing[:min(len(missing), maxNamed)],
			Text: fmt.Sprintf("the strategy gave %d of %d items to nobody:", len(missing), sc.Total),
		}
	}
	return r.assignment.owners, nil
}

// newShardRun is a run that knows nothing of where and when it happens.
func newShardRun(of *compilation, sc *job.ShardCall) *run {
	call := job.Call{Config: sc.Config, Namespace: sc.Namespace, Total: sc.Total, Log: sc.Log}
	call.Config.Allow = job.Allow{}
	call.Config.FetchCount = 0
	now := time.Now()
	r := &run{c: of, assignment: newAssignment(sc), resultLimit: DefaultResult, state: newOutside(call), deadline: now.Add(strategyTime)}
	r.fuelGauge = fuelGauge{limit: strategyFuel + strategyFuelPerItem*int64(sc.Total), end: r.deadline}
	r.facts = newFacts(call, of.digest, time.Time{}, time.Time{})
	r.facts.pure = true
	r.facts.seed, r.facts.seedMade = shardSeed(sc), true
	r.log = newGuestLog(&call, of)
	return r
}

// shardSeed differs between inputs only.
func shardSeed(sc *job.ShardCall) [32]byte {
	ids := make([]string, len(sc.Instances))
	for i, in := range sc.Instances {
		ids[i] = string(in.ID)
	}
	slices.Sort(ids)
	return sha256.Sum256([]byte(sc.Config.Name + "\x00" + strconv.Itoa(sc.Total) + "\x00" + strings.Join(ids, "\x00")))
}

// shardFailed explains why there is no answer.
func (r *run) shardFailed(ctx context.Context, res callResult) error {
	var out job.Outcome
	// A guest may exit with the number that is the engine's for a deadline.
	_, exited := errors.AsType[*sys.ExitError](res.err)
	switch life := r.c.engine.ctx; {
	case res.err != nil && ctx.Err() != nil:
		return fmt.Errorf("deal out the items: %w", ctx.Err())
	case res.err != nil && life.Err() != nil:
		return ErrClosed
	case !exited && errors.Is(res.err, context.DeadlineExceeded): // waiting for memory
		return fmt.Errorf("deal out the items: %w", res.err)
	}
	if errors.Is(res.err, errRunEnded) {
		return &ShardError{Fault: ShardTime, Text: fmt.Sprintf("the strategy did not end within %s", strategyTime)}
	}
	r.fillOutcome(&out, res, false)
	s := &ShardError{Code: res.code, Text: "the strategy failed: " + out.Error}
	switch {
	case errors.Is(res.err, errFuel):
		s.Fault = ShardFuel
		s.Text = fmt.Sprintf("the strategy used up its fuel of %d", r.fuelGauge.limit)
	case res.err != nil:
		s.Fault = ShardTrap
	default:
		s.Fault = ShardCode
	}
	return s
}

func differing(a, b []int) []int {
	var items []int
	for i := range a {
		if a[i] != b[i] && len(items) < maxNamed {
			items = append(items, i)
		}
	}
	return items
}

// CheckStrategy tries a strategy with a number of inputs, so that a module that
// cannot deal is known when it is loaded and not when servers come and go. The
// error says which input it failed with. A strategy is never asked to deal to
// nobody, so that is not tried.
func (e *Engine) CheckStrategy(ctx context.Context, m *Module, config job.Config) error {
	for _, total := range []int{1, 2, 3, 7, 64} {
		var previous []int
		for n := 1; n <= 5; n++ {
			c := job.ShardCall{Config: config, Total: total, Previous: previous}
			for i := n; i >= 1; i-- {
				c.Instances = append(c.Instances, job.ShardInstance{ID: job.InstanceID(fmt.Sprintf("10.0.0.%d@-@1", i))})
			}
			owners, err := e.Shard(ctx, m, c)
			if err != nil {
				return fmt.Errorf("strategy tried with %d items and %d instances: %w", total, n, err)
			}
			// Next, one joins at the front: who had an item moves by one place.
			previous = previous[:0]
			for _, owner := range owners {
				previous = append(previous, owner+1)
			}
		}
	}
	return nil
}
