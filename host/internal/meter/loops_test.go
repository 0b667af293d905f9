package meter

import (
	"testing"

	"github.com/wasmjob/wasmjob/host/internal/wasm"
)

// TestHeadsOfLoopsArePaidBefore checks which heads of loops are paid by the segments
// before them. TestControl and the generated modules check that the sums are right.
func TestHeadsOfLoopsArePaidBefore(t *testing.T) {
	t.Parallel()
	leave := cat(lget(0), 0x45, 0x0d, 1)         // the surrounding block
	less := cat(lget(0), i32c(1), 0x6b, ltee(0)) // subtract one
	back, perhaps := cat(0x0c, 0), cat(0x0d, 0)  // jumps to the loop
	loop := func(code ...any) []byte { return cat(0x02, 0x40, 0x03, 0x40, cat(code...), 0x0b, 0x0b) }
	for _, c := range []struct {
		name string
		code []byte
		paid int // number of heads paid before
	}{
		{"a condition at the begin", loop(leave, less, 0x1a, back), 1},
		{"a condition at the end", loop(less, perhaps), 0},
		{"both", loop(leave, less, perhaps), 0},
		{"one of two ways back", loop(less, 0x04, 0x40, i32c(1), 0x1a, 0x0c, 1, 0x0b, lget(0), perhaps), 0},
		{"an arm goes back", loop(less, 0x04, 0x40, i32c(1), 0x1a, 0x0c, 1, 0x0b), 1},
		{"two arms go back", loop(leave, less, 0x04, 0x40, i32c(1), 0x1a, 0x0c, 1, 0x05, i32c(2), 0x1a, 0x0c, 1, 0x0b), 1},
		{"straight back", loop(i32c(1), 0x1a, back), 0},
		{"no way back", loop(less, 0x1a), 0}, // not a loop
		{"nested", loop(leave, loop(leave, less, 0x1a, back), back), 2},
	} {
		b := &build{memory: []byte{0, 1}, exports: [][]byte{cat(text("memory"), 2, 0)}, funcs: []fn{{"f", "i>", "", c.code}}}
		m := walkedThrough(t, b)
		paid := 0
		for _, l := range m.loops {
			if head := m.segments[l.head]; head.paidElsewhere && head.price == 0 {
				paid++
			}
		}
		if paid != c.paid {
			t.Errorf("%s: %d heads are paid before, want %d", c.name, paid, c.paid)
		}
		if c.name != "straight back" {
			newLab(t).same(b.bytes(), calls("f", 1, 2, 3, 50)...)
		}
	}
}

// walkedThrough returns the meter's analysis of a module.
func walkedThrough(t *testing.T, b *build) *module {
	t.Helper()
	in, err := wasm.Decode(b.bytes())
	if err != nil {
		t.Fatal(err)
	}
	m := newModule(in, Options{}, gathered)
	if err := m.rewrite(); err != nil {
		t.Fatal(err)
	}
	return m
}
