package sandbox

import (
	"strings"
	"testing"

	"github.com/wasmjob/wasmjob/host/job"
)

// nested is a guest whose calls go that deep.
func nested(calls int64) []byte {
	b := &builder{}
	f := b.fn(valI32, valI32, 0, getLocal(0), op(0x45), op(0x04, 0x7f), i32(0), op(0x05), getLocal(0), i32(-1), op(opI32Add), call(b.imported), op(opEnd))
	return b.job(i32(calls), call(f))
}

// The stack of the engine grows without a word, but not beyond the budget.
func TestBudgetCountsStacks(t *testing.T) {
	t.Parallel()
	e, err := New(Options{Budget: 8 << 20})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	for calls, verdict := range map[int64]job.Verdict{20_000: job.OK, 300_000: job.Failure} {
		out := e.Run(t.Context(), load(t, e, nested(calls)), job.Call{})
		expect(t, out, verdict, "")
		if verdict == job.Failure && (!strings.Contains(out.Error, errDeep.Error()) || !strings.Contains(out.Error, "more memory was refused")) {
			t.Errorf("%d calls deep: %s", calls, out.Error)
		}
		if e.budget.used != 0 {
			t.Errorf("%d calls deep: %d bytes are not given back", calls, e.budget.used)
		}
	}
}

// What rests in a pool keeps a small stack of the engine for its next run, and
// none that calls have made large.
func TestPoolKeepsNoLargeStack(t *testing.T) {
	t.Parallel()
	e := newEngine(t)
	for calls, kept := range map[int64]int{10: 1, 10_000: 0} {
		m := load(t, e, nested(calls))
		expect(t, e.Run(t.Context(), m, pooledCall(1)), job.OK, "")
		for _, idle := range m.c.pools {
			if len(idle) != 1 || len(idle[0].entries) != kept {
				t.Errorf("%d calls deep: %d instances, %d entries; want 1, %d", calls, len(idle), len(idle[0].entries), kept)
			}
		}
	}
}
