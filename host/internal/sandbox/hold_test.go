package sandbox

import (
	"slices"
	"testing"

	"github.com/wasmjob/wasmjob/abi"
	"github.com/wasmjob/wasmjob/host/job"
)

// tight returns an engine with memory for one small guest and the given number of bytes.
func tight(t *testing.T, more int64) *Engine {
	t.Helper()
	e, err := New(Options{Budget: stackSize + pageSize + 2*instanceCost + more})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
		if e.budget.used != 0 || e.budget.active != 0 {
			t.Errorf("%d used, %d active", e.budget.used, e.budget.active)
		}
	})
	return e
}

// A batch grows as far as the budget allows, whatever its limit; the elements that were
// added are processed.
func TestBudgetCountsBatches(t *testing.T) {
	t.Parallel()
	const size, most = 60_000, 2 << 20
	e := tight(t, most)
	until := func(add []byte) []byte { // until it returns an error
		return slices.Concat(op(0x03, 0x40), add, i32(-1), op(0x4a), op(0x0d, 0), op(opEnd))
	}
	m := load(t, e, pipe(func(_ *builder, add func(at, n int64) []byte) (fetch, process []byte) {
		return slices.Concat(until(add(0, size)), i32(0)), i32(0)
	}))
	for range 2 { // the second run has the same memory as the first
		out := e.Run(t.Context(), m, flowing(func(c *job.Config) { c.Limits.Batch = 512 << 20 }))
		expect(t, out, job.OK, "")
		if n := out.Flow.Succeeded; n < most/size-2 || n > most/size {
			t.Errorf("%d elements of %d bytes, with room for %d bytes", n, size, most)
		}
	}
}

// A streaming job keeps no memory of a completed batch.
func TestBatchesAreGivenUp(t *testing.T) {
	t.Parallel()
	e := tight(t, 4<<20)
	var used []uint64
	m := load(t, e, pipe(func(b *builder, add func(at, n int64) []byte) (fetch, process []byte) {
		asks := b.abi(abi.FuncCancelled)
		return slices.Concat(drop(call(asks)), drop(add(0, 60_000)), i32(0)), i32(0)
	}))
	c := flowing(func(c *job.Config) { c.Streaming = true })
	c.Why = func() job.StopReason {
		e.budget.mu.Lock()
		defer e.budget.mu.Unlock()
		if used = append(used, e.budget.used); len(used) == 6 {
			return job.StopShutdown
		}
		return job.Continue
	}
	e.Run(t.Context(), m, c)
	if len(used) < 4 || used[0] != used[2] || used[1] <= used[0] {
		t.Errorf("before and after each batch: %d", used)
	}
}

// Memory that the host holds for subtasks passes to the run: the state and the result
// count once, however many batches there are.
func TestPartsHoldNothingBehindTheirBatch(t *testing.T) {
	t.Parallel()
	e := tight(t, 4<<20)
	var used []uint64
	m := load(t, e, pipe(func(b *builder, add func(at, n int64) []byte) (fetch, process []byte) {
		asks, set, result := b.abi(abi.FuncCancelled), b.abi(abi.FuncStateSet), b.abi(abi.FuncResultSet)
		return slices.Concat(drop(call(asks)), drop(add(0, 10)), i32(0)),
			slices.Concat(drop(invokes(set, 0, 1, 0, 1)), drop(invokes(result, 0, 1000)), i32(0))
	}))
	c := flowing(func(c *job.Config) { c.Streaming, c.Allow.State = true, true })
	c.Why = func() job.StopReason {
		e.budget.mu.Lock()
		defer e.budget.mu.Unlock()
		if used = append(used, e.budget.used); len(used) == 8 {
			return job.StopShutdown
		}
		return job.Continue
	}
	e.Run(t.Context(), m, c)
	if len(used) < 6 || used[5] != used[3] {
		t.Errorf("before and after each batch: %d", used)
	}
}

// All other data that the host holds for a guest counts as well. Here no memory is left.
func TestBudgetCountsWhatTheHostHolds(t *testing.T) {
	t.Parallel()
	n := &network{}
	var a asking
	a.ask(abi.FuncHTTPRequest, "GET https://a/\n\n").ask(abi.FuncStateSet, "key", "value").ask(abi.FuncStateGet, "key", 0, 0)
	wasm := a.wasm()
	for _, tt := range []struct {
		more int64
		want []int64
	}{
		{pageSize, []int64{abi.ErrLimit, abi.ErrLimit, abi.ErrLimit}},
		{stateBytes + pageSize, []int64{abi.ErrLimit, 0, 5}},
		{stateBytes + 2*answerBytes, []int64{1, 0, 5}},
	} {
		e := tight(t, tt.more)
		m := load(t, e, wasm)
		for range 2 {
			out := e.Run(t.Context(), m, granted(func(c *job.Call) { c.HTTP = n; c.Config.Allow.State = true }))
			if got := answersOf(out, len(tt.want)); !slices.Equal(got, tt.want) {
				t.Errorf("%d bytes more: %d, want %d (%s)", tt.more, got, tt.want, out.Error)
			}
		}
	}
	if len(n.asked) != 2 {
		t.Errorf("%d requests were sent", len(n.asked))
	}
}

func TestBudgetCountsResults(t *testing.T) {
	t.Parallel()
	wasm := func() []byte {
		var b builder
		set := b.abi(abi.FuncResultSet)
		return b.job(drop(invokes(set, 0, 10)), invokes(set, 0, pageSize), i32(300), op(opI32Add))
	}()
	for more, code := range map[int64]int32{0: 300 + abi.ErrLimit, pageSize: 300} {
		e := tight(t, more)
		out := e.Run(t.Context(), load(t, e, wasm), job.Call{})
		if out.Code != code {
			t.Errorf("%d bytes more: code %d (%s), want %d", more, out.Code, out.Error, code)
		}
	}
}

// The output of a command is kept as far as memory allows.
func TestBudgetCountsWhatCommandsPrint(t *testing.T) {
	t.Parallel()
	e := tight(t, 0)
	r := &run{ctx: t.Context(), compiled: &compilation{engine: e}, resultLimit: 64 << 20}
	piece, written := make([]byte, 100_000), 0
	for range 100 {
		n, err := (resultWriter{r}).Write(piece)
		if written += n; err != nil {
			break
		}
	}
	if written == 0 || uint64(written) > e.budget.limit || cap(r.result) > int(e.budget.used) {
		t.Errorf("%d bytes kept, %d used of %d", written, e.budget.used, e.budget.limit)
	}
	r.dropMemory(r.heldBytes)
	e.budget.endRun(r)
}
