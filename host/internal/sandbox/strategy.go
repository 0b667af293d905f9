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
	// every server. They allow a second or two of work: a strategy visits all items
	// and instances a few times, perhaps in a slow language.
	strategyFuel        = 1_000_000_000
	strategyFuelPerItem = 10_000
	// strategyTime is the most that the host waits for a strategy, in case a machine
	// is too slow to use up the fuel. After that the assignment would come too late.
	strategyTime = 30 * time.Second
	// maxNamed is the maximum number of items that an error lists.
	maxNamed = 100
)

// ShardFault is the kind of a strategy's fault.
type ShardFault string

// The faults of a ShardError.
const (
	ShardMissing ShardFault = "missing" // items were not assigned
	ShardTwice   ShardFault = "twice"   // items were assigned more than once
	ShardDiffers ShardFault = "differs" // two runs with the same input differ
	ShardCode    ShardFault = "code"    // it returned an error code
	ShardTrap    ShardFault = "trap"    // it trapped, exited or could not start
	ShardFuel    ShardFault = "fuel"    // it used up its fuel
	ShardTime    ShardFault = "time"    // it exceeded strategyTime
)

// ShardError reports a fault of a strategy.
type ShardError struct {
	Fault ShardFault
	Items []int // missing, assigned twice or different; at most a hundred
	Code  int32 // result code of the entry
	Text  string
}

// Error returns the fault and the items.
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

// Shard runs a strategy and returns the owner of each item as an index of
// c.Instances. It runs the strategy twice in new instances, with its input only, and
// both runs must agree. A fault of the strategy is a *ShardError; then the caller
// uses another strategy. There must be an instance.
func (e *Engine) Shard(ctx context.Context, m *Module, c job.ShardCall) ([]int, error) {
	if len(c.Instances) == 0 || c.Total < 1 {
		return nil, errors.New("there are no items to assign, or no instances to assign them to")
	}
	if !e.beginUse() {
		return nil, ErrClosed
	}
	defer e.runs.Done()
	if !m.compiled.addUser() {
		return nil, fmt.Errorf("module %s was closed", m.compiled.digest)
	}
	defer m.compiled.removeUser()
	if !m.compiled.exports(abi.ExportShard) {
		return nil, fmt.Errorf("module %s is not a strategy; it can be: %s", m.compiled.digest, strings.Join(m.compiled.kinds, ", "))
	}
	first, err := m.compiled.assignOnce(ctx, c)
	if err != nil {
		return nil, err
	}
	c.Log = nil // the second run logs the same
	second, err := m.compiled.assignOnce(ctx, c)
	if err != nil {
		return nil, err
	}
	if !slices.Equal(first, second) {
		return nil, &ShardError{
			Fault: ShardDiffers, Items: differing(first, second),
			Text: "two runs of the strategy with the same input differ in the items",
		}
	}
	return first, nil
}

// assignOnce runs the strategy once.
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
		// On a server with more memory the assignment might differ.
		return nil, fmt.Errorf("assign the items: %w", r.memoryErr)
	}
	if res.err != nil || res.code != abi.ResultOK {
		return nil, r.shardFailed(ctx, res)
	}
	if twice := r.assignment.assignedTwice; len(twice) > 0 {
		slices.Sort(twice)
		return nil, &ShardError{Fault: ShardTwice, Items: slices.Compact(twice), Text: "the strategy assigned items more than once:"}
	}
	if missing := r.assignment.missing(); len(missing) > 0 {
		return nil, &ShardError{
			Fault: ShardMissing, Items: missing[:min(len(missing), maxNamed)],
			Text: fmt.Sprintf("the strategy did not assign %d of %d items:", len(missing), sc.Total),
		}
	}
	return r.assignment.owners, nil
}

// newShardRun returns a run that does not know when and where it runs. It has no grants,
// and its clock, its random numbers and its fuel depend on the input only.
func newShardRun(compiled *compilation, sc *job.ShardCall) *run {
	call := job.Call{Config: sc.Config, Namespace: sc.Namespace, Total: sc.Total, Log: sc.Log}
	call.Config.Allow = job.Allow{}
	call.Config.FetchCount = 0
	now := time.Now()
	r := &run{compiled: compiled, assignment: newAssignment(sc), resultLimit: DefaultResult, hostState: newHostState(&call), deadline: now.Add(strategyTime)}
	r.fuelGauge = fuelGauge{limit: strategyFuel + strategyFuelPerItem*int64(sc.Total), end: r.deadline}
	r.facts = newFacts(&call, compiled.digest, time.Time{}, time.Time{})
	r.facts.pure = true // withholds all that does not belong to the input
	r.facts.seed, r.facts.seedMade = shardSeed(sc), true
	r.log = newGuestLog(&call, compiled)
	return r
}

// shardSeed returns a seed that depends on the input only.
func shardSeed(sc *job.ShardCall) [32]byte {
	ids := make([]string, len(sc.Instances))
	for i, in := range sc.Instances {
		ids[i] = string(in.ID)
	}
	slices.Sort(ids)
	return sha256.Sum256([]byte(sc.Config.Name + "\x00" + strconv.Itoa(sc.Total) + "\x00" + strings.Join(ids, "\x00")))
}

// shardFailed returns the error for a strategy that did not end well. It is a *ShardError
// only if the strategy is at fault, and not this server, the caller or the memory.
func (r *run) shardFailed(ctx context.Context, res callResult) error {
	var out job.Outcome
	// A guest may exit with the code that the engine uses for a deadline.
	_, exited := errors.AsType[*sys.ExitError](res.err)
	switch life := r.compiled.engine.ctx; {
	case res.err != nil && ctx.Err() != nil:
		return fmt.Errorf("assign the items: %w", ctx.Err())
	case res.err != nil && life.Err() != nil:
		return ErrClosed
	case !exited && errors.Is(res.err, context.DeadlineExceeded): // while waiting for memory
		return fmt.Errorf("assign the items: %w", res.err)
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

// differing returns the items whose owners differ, at most maxNamed.
func differing(a, b []int) []int {
	var items []int
	for i := range a {
		if a[i] != b[i] && len(items) < maxNamed {
			items = append(items, i)
		}
	}
	return items
}

// CheckStrategy runs a strategy with several inputs, so that a faulty module is
// found when it is loaded, and not when servers come and go. The error names the
// failing input. Empty lists of instances do not occur, so they are not tried.
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
			// An instance joins at the front, so that all indexes move by one.
			previous = previous[:0]
			for _, owner := range owners {
				previous = append(previous, owner+1)
			}
		}
	}
	return nil
}
