package sandbox

import (
	"slices"
	"testing"
	"time"

	"github.com/wasmjob/wasmjob/abi"
	"github.com/wasmjob/wasmjob/host/job"
)

// counter counts its runs in its memory and returns 200 plus their number. Before that it
// acts as the length of the parameter says.
func counter() []byte {
	b := &builder{}
	str, asks := b.abi(abi.FuncCtxStr), b.abi(abi.FuncCancelled)
	does := func(length int64, code ...[]byte) []byte {
		return when(slices.Concat(invokes(str, abi.FieldJobParam, 0, 0), i32(length), op(0x46)), code...)
	}
	return b.job(
		store8(100, plus(load8(100), i32(1))),
		does(1, op(opUnreachable)),
		does(2, again(call(asks), op(opDrop))),
		plus(load8(100), i32(200)))
}

func pooledCall(size int) job.Call {
	return job.Call{Config: job.Config{Name: "p", Limits: job.Limits{Pool: job.Pool{Size: size}, Grace: time.Millisecond}}}
}

func wantCodes(t *testing.T, e *Engine, m *Module, c job.Call, codes ...int32) {
	t.Helper()
	for i, want := range codes {
		if out := e.Run(t.Context(), m, c); out.Code != want {
			t.Errorf("run %d: code %d (%s), want %d", i+1, out.Code, out.Error, want)
		}
	}
}

func (e *Engine) resting() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	n := 0
	for _, c := range e.modules {
		for _, idle := range c.pools {
			n += len(idle)
		}
	}
	return n
}

func TestPoolKeepsInstances(t *testing.T) {
	t.Parallel()
	e := newEngine(t)
	m := load(t, e, counter())
	c := pooledCall(1)
	wantCodes(t, e, m, c, 201, 202, 203)
	other := c
	other.Config.Name = "q" // another job has its own pool
	wantCodes(t, e, m, other, 201, 202)
	wantCodes(t, e, m, job.Call{Config: job.Config{Name: "p"}}, 201, 201) // a job without a pool
	wantCodes(t, e, m, c, 204)
	if n := e.resting(); n != 2 {
		t.Errorf("%d instances rest", n)
	}
	m.Close()
	if e.budget.used != 0 || e.budget.active != 0 {
		t.Errorf("after the last user: %d bytes, %d active", e.budget.used, e.budget.active)
	}
}

func TestPoolFollowsGrants(t *testing.T) {
	t.Parallel()
	e := newEngine(t)
	m := load(t, e, counter())
	c := pooledCall(1)
	wantCodes(t, e, m, c, 201, 202)
	for _, change := range []func(*job.Config){
		func(c *job.Config) { c.Allow.Random = true },
		func(c *job.Config) { c.Allow.Env = map[string]string{"A": "b"} },
		func(c *job.Config) { c.Allow.Env = map[string]string{"A": "c"} },
		func(c *job.Config) { c.Allow.Dirs = []job.Dir{{Host: t.TempDir(), Guest: "/d"}} },
		func(c *job.Config) { c.Allow.State = true },
		func(c *job.Config) { c.Allow.Secrets = []string{"s"} },
		func(c *job.Config) { c.Allow.HTTP = []string{"https://*"} },
		func(c *job.Config) { c.Allow.Clock = "real" },
		func(c *job.Config) { c.Limits.Memory = 10 * pageSize },
		func(c *job.Config) { c.Limits.OpenFiles = 3 },
	} {
		change(&c.Config)
		wantCodes(t, e, m, c, 201, 202)
	}
	if n := e.resting(); n != 1 {
		t.Errorf("%d instances rest", n)
	}
}

func TestPoolGivesUpInstances(t *testing.T) {
	t.Parallel()
	e := newEngine(t)
	m := load(t, e, counter())
	c := pooledCall(1)
	c.Config.Limits.Pool.MaxUses = 3
	wantCodes(t, e, m, c, 201, 202, 203, 201)

	trap := c
	trap.Config.Param = "1"
	expect(t, e.Run(t.Context(), m, trap), job.Failure, "unreachable")
	wantCodes(t, e, m, c, 201)

	late := c
	late.Config.Param, late.Config.Timeout = "22", time.Millisecond
	expect(t, e.Run(t.Context(), m, late), job.Deadline, "")
	wantCodes(t, e, m, c, 201)

	// The call ends at once, but still too late.
	slow := c
	slow.Config.Timeout = time.Nanosecond
	slow.Config.Limits.Grace = time.Hour
	if out := e.Run(t.Context(), m, slow); out.Verdict != job.Deadline {
		t.Errorf("%s", out.Verdict)
	}
	wantCodes(t, e, m, c, 201)

	wantCodes(t, e, m, job.Call{Config: job.Config{Name: "n", Limits: job.Limits{Pool: job.Pool{Size: 0, MaxUses: 9}}}}, 201, 201)
}

// A run in a reused instance has its own inputs and its own usage.
func TestPoolRunsAreTheirOwn(t *testing.T) {
	t.Parallel()
	e := newEngine(t)
	m := load(t, e, counter())
	first := e.Run(t.Context(), m, pooledCall(1))
	second := e.Run(t.Context(), m, pooledCall(1))
	if first.Fuel == 0 || second.Fuel != first.Fuel || first.HostCalls != second.HostCalls || second.Code != 202 {
		t.Errorf("first %+v\nsecond %+v", first, second)
	}
	limited := pooledCall(1)
	limited.Config.Limits.Fuel = first.Fuel
	if out := e.Run(t.Context(), m, limited); out.Code != 203 {
		t.Errorf("within the same fuel: %s, %d", out.Verdict, out.Code)
	}
	limited.Config.Limits.Fuel--
	if out := e.Run(t.Context(), m, limited); out.Verdict != job.OutOfFuel {
		t.Errorf("with less fuel: %s", out.Verdict)
	}

	// Random numbers and the clock start again, with the run's own seed.
	b := &builder{}
	random := b.fromHost(wasiModule, "random_get", valI32+valI32, valI32)
	now := b.fromHost(wasiModule, "clock_time_get", valI32+valI64+valI32, valI32)
	result := b.abi(abi.FuncResultSet)
	draws := load(t, e, b.job(
		drop(invokes(random, 0, 16)),
		i32(0), i64(1), i32(16), call(now), op(opDrop),
		invokes(result, 0, 24)))
	seeded := func(size int, run string) string {
		c := pooledCall(size)
		c.RunID, c.Scheduled = run, time.UnixMilli(5000)
		return string(e.Run(t.Context(), draws, c).Result)
	}
	a, again, other := seeded(1, "a"), seeded(1, "a"), seeded(1, "b")
	if a != again || a == other || a != seeded(0, "a") || other != seeded(0, "b") || len(a) != 24 {
		t.Errorf("%x\n%x\n%x", a, again, other)
	}
}

// An instance whose start failed does not become idle.
func TestPoolTakesNoFailedStart(t *testing.T) {
	t.Parallel()
	e := newEngine(t)
	m := load(t, e, counter())
	c := pooledCall(1)
	c.Config.Allow.Dirs = []job.Dir{{Host: "/nowhere/at/all", Guest: "/d"}}
	for range 2 {
		expect(t, e.Run(t.Context(), m, c), job.Failure, "open granted directory")
	}
	b := &builder{}
	traps := b.fn("", "", 0, op(opUnreachable))
	m = load(t, e, b.export(abi.ExportInitialize, kindFunc, traps).job(i32(0)))
	for range 2 {
		expect(t, e.Run(t.Context(), m, pooledCall(1)), job.Failure, "_initialize: ")
	}
	if n := e.resting(); n != 0 {
		t.Errorf("%d instances rest", n)
	}
}

// Any number of runs may have an instance at the same time; the pool keeps as many as its
// size.
func TestPoolIsNoBoundOnRuns(t *testing.T) {
	t.Parallel()
	e := newEngine(t)
	b := &builder{}
	asks := b.abi(abi.FuncCancelled)
	m := load(t, e, b.job(call(asks)))
	const n = 5
	arrived, leave := make(chan struct{}), make(chan struct{})
	c := pooledCall(2)
	c.Why = func() job.StopReason { arrived <- struct{}{}; <-leave; return job.Continue }
	ended := make(chan job.Outcome)
	for range n {
		go func() { ended <- e.Run(t.Context(), m, c) }()
	}
	for range n {
		<-arrived
	}
	close(leave)
	for range n {
		expect(t, <-ended, job.OK, "")
	}
	if got := e.resting(); got != 2 {
		t.Errorf("%d instances rest", got)
	}
	if err := e.Close(); err != nil {
		t.Error(err)
	}
	if e.budget.used != 0 || e.budget.active != 0 {
		t.Errorf("%d bytes, %d active", e.budget.used, e.budget.active)
	}
}
