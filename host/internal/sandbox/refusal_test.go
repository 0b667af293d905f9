package sandbox

import (
	"errors"
	"slices"
	"testing"
)

// Each refusal says how to correct the module.
func TestEveryRefusalHasAHint(t *testing.T) {
	t.Parallel()
	whole := asker()
	broken := [][]byte{nil, []byte("\x00asm\x02\x00\x00\x00"), withSection(section(1, huge)), withSection(section(5, []byte{1, 3, 1, 1}))}
	for i := range whole {
		broken = append(broken, whole[:i])
		for bit := range 8 {
			flipped := slices.Clone(whole)
			flipped[i] ^= 1 << bit
			broken = append(broken, flipped)
		}
	}
	for _, wasm := range broken {
		err := inspect(wasm)
		if r, ok := errors.AsType[*Refusal](err); err != nil && (!ok || r.Problem == "" || r.Hint == "") {
			t.Fatalf("% x: %v", wasm, err)
		}
	}
}
