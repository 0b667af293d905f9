package meter

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"github.com/wasmjob/wasmjob/host/internal/wasm"
)

// entries is a list section: the number of entries and their bytes.
type entries struct {
	n int
	b []byte
}

func (e *entries) add(b ...byte) {
	e.n++
	e.b = append(e.b, b...)
}

// module is a decoded module and its rewritten parts. The lists have shifted
// function indexes.
type module struct {
	*wasm.Module
	maxTable  uint32
	maxMemory uint64
	mode      mode

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

	analysis
	hostFuncInTable bool   // a table may contain a host function
	addressTaken    []bool // functions that not only direct calls reach; payEntries adds others that pay for themselves
	bulkBlockType   []byte // block type for the operands of a bulk operation; nil: not added yet
	helpers         []helper
	payWrappers     []helper          // functions that pay for another function and call it
	wrapperBytes    uint64            // memory that they take
	payWrapperOf    map[uint32]uint32 // index of the wrapper, by the index of the wrapped function
	helperOf        map[bulkOp]uint32
	declared        []bool // functions with a declared reference
	referenced      []uint32
	globalOf        map[uint32]int // index in referenced
}

// rewrite rewrites all parts, in the order in which they depend on each other, but adds
// nothing.
func (m *module) rewrite() error {
	for _, im := range m.Imports {
		if strings.HasPrefix(im.Module, Reserved) {
			return fmt.Errorf("%w: import %.64q.%.64q", ErrReserved, im.Module, im.Name)
		}
		// The module that exports a table or a global decides what is in it.
		m.hostFuncInTable = m.hostFuncInTable || im.Kind == wasm.KindTable || im.Kind == wasm.KindGlobal
	}
	for _, e := range m.Exports {
		if strings.HasPrefix(e.Name, Reserved) {
			return fmt.Errorf("%w: export %.64q", ErrReserved, e.Name)
		}
	}
	for _, c := range m.Customs {
		m.keepOrDrop(c)
	}
	m.types, m.imports, m.functions = m.copiedSection(wasm.SectionType), m.copiedSection(wasm.SectionImport), m.copiedSection(wasm.SectionFunction)
	m.declared, m.addressTaken = make([]bool, len(m.Funcs)), make([]bool, len(m.Funcs))
	m.globals, m.elements = m.shiftedSection(wasm.SectionGlobal), m.shiftedSection(wasm.SectionElement)
	copy(m.addressTaken, m.declared)
	if m.Start != nil {
		m.addressTaken[*m.Start] = true
	}
	for _, ref := range m.Sections[wasm.SectionExport].Refs {
		m.declared[ref.Func] = true
	}
	if err := m.rewriteCode(); err != nil {
		return err
	}
	m.exports = m.shiftedSection(wasm.SectionExport)
	return nil
}

// shiftIndex returns the index of a function after the import was added.
func (m *module) shiftIndex(i uint32) uint32 {
	if int64(i) >= int64(m.Imported) {
		i++
	}
	return i
}

// copiedSection copies a list section that has no function indexes to shift.
func (m *module) copiedSection(id int) entries {
	s := m.Sections[id]
	return entries{s.N, slices.Clone(s.Entries)}
}

// shiftedSection copies a section and shifts its function indexes. A function that
// is named there has a declared reference.
func (m *module) shiftedSection(id int) entries {
	s := m.Sections[id]
	e := entries{s.N, make([]byte, 0, len(s.Entries)+len(s.Refs)/8+64)}
	done := uint32(0)
	for _, ref := range s.Refs {
		m.declared[ref.Func] = true
		m.hostFuncInTable = m.hostFuncInTable || int(ref.Func) < m.Imported
		to := m.shiftIndex(ref.Func)
		if entry := m.payWrapperOf[ref.Func]; id == wasm.SectionExport && entry > 0 {
			to = entry
		}
		e.b = append(e.b, s.Entries[done:ref.From]...)
		e.b = binary.AppendUvarint(e.b, uint64(to))
		done = ref.To
	}
	e.b = append(e.b, s.Entries[done:]...)
	return e
}

// keepOrDrop keeps a custom section, unless it refers to positions in the code, which
// change.
func (m *module) keepOrDrop(c wasm.Custom) {
	switch name := c.Name; {
	case name == "name" && m.names == nil:
		// Rewritten later, when all functions are known.
		m.names = c.Body
	case name == "name",
		strings.HasPrefix(name, ".debug_"), strings.HasPrefix(name, "reloc."), strings.HasPrefix(name, "metadata.code."),
		name == "linking", name == "sourceMappingURL", name == "external_debug_info":
		m.drop(name) // a second name section, or positions in the code
	default:
		m.customs = append(m.customs, c)
	}
}

// drop records that a custom section was dropped. A module can have many, so only the
// first ones are recorded.
func (m *module) drop(name string) {
	if len(m.dropped) < 64 {
		m.dropped = append(m.dropped, name)
	}
}
