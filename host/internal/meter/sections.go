package meter

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"github.com/wasmjob/wasmjob/host/internal/wasm"
)

// entries is a section that is a list: how many, and their bytes.
type entries struct {
	n int
	b []byte
}

func (e *entries) add(b ...byte) {
	e.n++
	e.b = append(e.b, b...)
}

// module is a module taken apart, and what becomes of it: the lists have their
// indexes of functions already shifted.
type module struct {
	*wasm.Module
	maxTable uint32
	each     bool // every instruction pays for itself

	types     entries
	imports   entries
	functions entries
	globals   entries
	exports   entries
	elements  entries
	code      entries
	customs   []wasm.Custom
	dropped   []string
	names     []byte // the name section

	tabled     bool // a function of the host may be in a table
	helpers    []helper
	helperOf   map[rangeOp]uint32
	declared   []bool // functions that code may refer to
	referred   []uint32
	variableOf map[uint32]int // index in referred
}

// rewrite does all but adding what is new.
func (m *module) rewrite() error {
	for _, im := range m.Imports {
		if strings.HasPrefix(im.Module, Reserved) {
			return fmt.Errorf("%w: import %.64q.%.64q", ErrReserved, im.Module, im.Name)
		}
		m.tabled = m.tabled || im.Kind == wasm.KindTable || im.Kind == wasm.KindGlobal
	}
	for _, e := range m.Exports {
		if strings.HasPrefix(e.Name, Reserved) {
			return fmt.Errorf("%w: export %.64q", ErrReserved, e.Name)
		}
	}
	for _, c := range m.Customs {
		m.custom(c)
	}
	m.types, m.imports, m.functions = m.copied(wasm.SectionType), m.copied(wasm.SectionImport), m.copied(wasm.SectionFunction)
	m.declared = make([]bool, len(m.Funcs))
	m.globals, m.exports, m.elements = m.shifted(wasm.SectionGlobal), m.shifted(wasm.SectionExport), m.shifted(wasm.SectionElement)
	return m.rewriteCode()
}

// shift is where the new import moves a function to.
func (m *module) shift(i uint32) uint32 {
	if int64(i) >= int64(m.Imported) {
		i++
	}
	return i
}

func (m *module) copied(id int) entries {
	s := m.Sections[id]
	return entries{s.N, slices.Clone(s.Entries)}
}

// shifted copies a section with its indexes of functions shifted. To name a
// function there declares references to it.
func (m *module) shifted(id int) entries {
	s := m.Sections[id]
	e := entries{s.N, make([]byte, 0, len(s.Entries)+len(s.Refs)/8+64)}
	done := uint32(0)
	for _, ref := range s.Refs {
		m.declared[ref.Func] = true
		m.tabled = m.tabled || int(ref.Func) < m.Imported
		e.b = append(e.b, s.Entries[done:ref.From]...)
		e.b = binary.AppendUvarint(e.b, uint64(m.shift(ref.Func)))
		done = ref.To
	}
	e.b = append(e.b, s.Entries[done:]...)
	return e
}

func (m *module) rewriteCode() error {
	size := len(m.Sections[wasm.SectionCode].Body)
	m.code = entries{n: len(m.Bodies), b: make([]byte, 0, size+size/2)}
	w := walk{m: m}
	for i := range m.Bodies {
		if err := w.function(i); err != nil {
			return err
		}
		m.code.b = binary.AppendUvarint(m.code.b, uint64(len(w.out)))
		m.code.b = append(m.code.b, w.out...)
	}
	return nil
}

// custom keeps or drops a custom section.
func (m *module) custom(c wasm.Custom) {
	switch name := c.Name; {
	case name == "name" && m.names == nil:
		// Rewritten later, when it is known how many functions are imported.
		m.names = c.Body
	case name == "name",
		strings.HasPrefix(name, ".debug_"), strings.HasPrefix(name, "reloc."), strings.HasPrefix(name, "metadata.code."),
		name == "linking", name == "sourceMappingURL", name == "external_debug_info":
		m.drop(name) // a second list is one too many; the others speak of places in the code
	default:
		m.customs = append(m.customs, c)
	}
}

func (m *module) drop(name string) {
	if len(m.dropped) < 64 {
		m.dropped = append(m.dropped, name)
	}
}
