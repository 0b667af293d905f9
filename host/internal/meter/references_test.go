package meter

import (
	"strings"
	"testing"

	"github.com/tetratelabs/wazero"
)

// The engine allocates a reference for each ref.func that runs, and keeps all of them: a
// loop would fill the memory of the host.
func TestReferencesAreMadeOnce(t *testing.T) { //nolint:paralleltest // counts allocations
	b := &build{funcs: []fn{
		{"f", "i>", "", countDown(0xd2, 0, 0x1a, 0xd2, 1, 0x1a)},
		{"g", ">i", "", i32c(7)},
		{"h", "i>i", "", cat(lget(0), 0xd2, 1, 0x26, 0, lget(0), 0x11, 1, 0)},
	}, tables: [][]byte{{0x70, 0, 3}}}
	l := newLab(t)
	m, err := l.rt.InstantiateModule(t.Context(), l.rewritten(b.bytes(), Options{}, gathered), wazero.NewModuleConfig())
	if err != nil {
		t.Fatal(err)
	}
	f := m.ExportedFunction("f")
	if n := testing.AllocsPerRun(5, func() {
		if _, err := f.Call(t.Context(), 1000); err != nil {
			t.Error(err)
		}
	}); n > 100 {
		t.Errorf("%v allocations for 2000 references", n)
	}
	if got, err := m.ExportedFunction("h").Call(t.Context(), 2); err != nil || got[0] != 7 {
		t.Errorf("a call by reference: %v, %v", got, err)
	}
}

func TestReferencesAreDeclared(t *testing.T) {
	t.Parallel()
	b := &build{funcs: []fn{{"f", ">", "", cat(0xd2, 1, 0x1a)}, {"", ">", "", nil}}}
	if _, err := rewritten(b.bytes(), Options{}); err == nil || !strings.Contains(err.Error(), "reference to function 1, which is not declared") {
		t.Error(err)
	}
	many := &build{funcs: []fn{{"f", ">", "", nil}}}
	var declared, code []byte
	for i := range maxReferences + 1 {
		many.funcs = append(many.funcs, fn{"", ">", "", nil})
		declared = append(declared, u(i+1)...)
		code = cat(code, 0xd2, u(i+1), 0x1a)
	}
	many.elems = [][]byte{cat(3, 0, u(maxReferences+1), declared)}
	many.funcs[0].code = code
	if _, err := rewritten(many.bytes(), Options{}); err == nil || !strings.Contains(err.Error(), "references to more than") {
		t.Error(err)
	}
}
