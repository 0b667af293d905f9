package sandbox

import (
	"slices"
	"testing"

	"github.com/wasmjob/wasmjob/host/job"
)

// What rests in a pool keeps a small stack of the engine for its next run, and
// none that calls have made large.
func TestPoolKeepsNoLargeStack(t *testing.T) {
	t.Parallel()
	e := newEngine(t)
	deep := func(calls int64) *Module {
		b := &builder{}
		f := b.fn(valI32, valI32, 0, getLocal(0), op(0x45), op(0x04, 0x7f), i32(0), op(0x05), getLocal(0), i32(-1), op(opI32Add), call(b.imported), op(opEnd))
		return load(t, e, b.job(slices.Concat(i32(calls), call(f))))
	}
	for calls, kept := range map[int64]int{10: 1, 10_000: 0} {
		m := deep(calls)
		expect(t, e.Run(t.Context(), m, pooledCall(1)), job.OK, "")
		for _, idle := range m.c.pools {
			if len(idle) != 1 || len(idle[0].entries) != kept {
				t.Errorf("%d calls deep: %d instances, %d entries; want 1, %d", calls, len(idle), len(idle[0].entries), kept)
			}
		}
	}
}
