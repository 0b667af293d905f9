package definition_test

import (
	"testing"

	"github.com/wasmjob/wasmjob/host/internal/definition"
)

// A definition made by an operator belongs to no server until a server has it in its
// file.
func TestMadeByAnOperator(t *testing.T) {
	t.Parallel()
	var h held
	h.apply(t, plainJob(), digestA)
	h.module.Made = true
	text, err := definition.EncodeModule(*h.module)
	if err != nil {
		t.Fatal(err)
	}
	if m, err := definition.DecodeModule(text); err != nil || !m.Made || m.Applied() {
		t.Errorf("%s: %v", text, err)
	}
	if h.apply(t, plainJob(), digestA); h.module.Made || !h.module.Applied() {
		t.Errorf("a server has it in its file: %+v", h.module)
	}
}
