package sandbox

import (
	"bytes"
	"slices"
	"testing"
)

// TestMachineCodeIsLookedAt checks that the compiler's output is compared with the limit,
// too.
func TestMachineCodeIsLookedAt(t *testing.T) {
	t.Parallel()
	b := &builder{}
	b.fn("", "", 1, bytes.Repeat(slices.Concat(getLocal(0), op(0x0d, 0)), 1000))
	m := load(t, newEngine(t), b.job(i32(0)))
	made, err := compiledSizeOf(m.compiled.code)
	if err != nil || made.total < 10_000 || made.total > 100_000 || len(made.funcs) < 3 {
		t.Errorf("%d bytes of machine code, functions at %v, %v", made.total, made.funcs, err)
	}
	made.total = maxMachineCode + 1
	wantRefusal(t, made.check(), TooBig, "of machine code")
}
