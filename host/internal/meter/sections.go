package meter

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Bounds of what is taken. An engine's time grows faster than the code for
// some of these, and each entry costs more here than in the binary.
const (
	maxTypes     = 100_000
	maxValues    = 1_000 // parameters, or results, of a type
	maxImports   = 100_000
	maxFunctions = 500_000
	maxTables    = 100
	maxGlobals   = 100_000
	maxExports   = 100_000
	maxSegments  = 100_000
	maxEntries   = 10_000_000 // of an element segment
	maxName      = 100_000    // bytes; of imports and exports
	maxNames     = 32 << 20   // bytes of the name section
	maxLocals    = 50_000     // of one function, parameters included
	maxFunction  = 7_654_321  // bytes of one function
	maxBranches  = 50_000     // blocks, conditional branches and targets of one function
	maxHelpers   = 1_000      // functions added
	maxConstant  = 16         // steps of a constant expression
)

const (
	secCustom = iota
	secType
	secImport
	secFunction
	secTable
	secMemory
	secGlobal
	secExport
	secStart
	secElement
	secCode
	secData
	secDataCount
	sections
)

// sectionOrder is the order in which sections stand: data count before code.
var sectionOrder = [...]byte{
	secType, secImport, secFunction, secTable, secMemory, secGlobal, secExport, secStart, secElement, secDataCount, secCode, secData,
}

// What an import or export is.
const (
	kindFunc = iota
	kindTable
	kindMemory
	kindGlobal
)

const (
	i32       = 0x7f
	i64       = 0x7e
	funcref   = 0x70
	externref = 0x6f
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

// custom is a custom section; it stands behind the section of the given rank.
type custom struct {
	rank int
	body []byte
}

// module is a module taken apart, its function indexes already shifted.
type module struct {
	maxTable uint32
	each     bool // every instruction pays for itself

	types     entries
	params    []int // of each type
	imports   entries
	functions entries
	tables    []byte // element type of each
	globalsOf entries
	exports   entries
	elements  entries
	code      entries
	start     *uint32
	raw       [sections][]byte // sections that stay as they are
	customs   []custom
	dropped   []string
	names     []byte // the name section

	funcs    []uint32 // type of each function, imported ones first
	imported int      // functions
	tabled   bool     // one of them may be in a table
	globals  int
	memories int

	helpers  []helper
	helperOf map[rangeOp]uint32

	declared   []bool // functions that code may refer to; nil: none
	referred   []uint32
	variableOf map[uint32]int // index in referred
}

func (m *module) decode(wasm []byte) error {
	if len(wasm) < 8 || string(wasm[:4]) != "\x00asm" {
		return fmt.Errorf("%w: this is not a Wasm binary", ErrDamaged)
	}
	switch string(wasm[4:8]) {
	case "\x01\x00\x00\x00":
	case "\x0d\x00\x01\x00":
		return &Unsupported{What: "a component", Func: -1}
	default:
		return &Unsupported{What: fmt.Sprintf("version % x", wasm[4:8]), Func: -1}
	}
	r := &reader{b: wasm, pos: 8}
	var bodies [sections][]byte
	rank := -1
	for !r.done() {
		id := r.byte()
		body := r.take(r.u32())
		switch {
		case r.err != nil:
		case id == secCustom:
			if err := m.custom(body, rank); err != nil {
				return fmt.Errorf("custom section: %w", err)
			}
		case bytes.IndexByte(sectionOrder[:], id) < 0:
			r.unsupported("section %d", id)
		case bytes.IndexByte(sectionOrder[:], id) <= rank:
			r.fail(ErrDamaged, "section %d is repeated or out of order", id)
		default:
			rank = bytes.IndexByte(sectionOrder[:], id)
			bodies[id] = body
		}
	}
	if r.err != nil {
		return r.err
	}
	for _, id := range sectionOrder {
		if bodies[id] == nil {
			continue
		}
		s := &reader{b: bodies[id]}
		m.section(id, s)
		s.end()
		if s.err != nil {
			return fmt.Errorf("section %d: %w", id, s.err)
		}
	}
	if m.code.n != len(m.funcs)-m.imported {
		return fmt.Errorf("%w: %d functions are declared, but there are %d bodies", ErrDamaged, len(m.funcs)-m.imported, m.code.n)
	}
	return nil
}

func (m *module) section(id byte, r *reader) {
	m.raw[id] = r.b
	switch id {
	case secType:
		m.typeSection(r)
	case secImport:
		m.importSection(r)
	case secFunction:
		m.functions.n = r.count("functions", 1, maxFunctions)
		m.functions.b = slices.Clone(r.b[r.pos:])
		for range m.functions.n {
			m.funcs = append(m.funcs, r.index("type", len(m.params)))
		}
	case secTable:
		for n := r.count("tables", 3, maxTables); n > 0 && r.err == nil; n-- {
			m.table(r)
		}
	case secMemory:
		for n := r.count("memories", 2, maxTables); n > 0 && r.err == nil; n-- {
			m.memory(r)
		}
	case secGlobal:
		m.globalSection(r)
	case secExport:
		m.exportSection(r)
	case secStart:
		i := m.shift(r.index("function", len(m.funcs)))
		m.start = &i
	case secElement:
		m.elementSection(r)
	case secCode:
		m.codeSection(r)
	case secData:
		m.dataSection(r)
	case secDataCount:
		r.u32()
	}
}

// shift is where the new import moves a function to.
func (m *module) shift(i uint32) uint32 {
	if int64(i) >= int64(m.imported) {
		i++
	}
	return i
}

func (m *module) typeSection(r *reader) {
	n := r.count("types", 3, maxTypes)
	m.types = entries{n, slices.Clone(r.b[r.pos:])}
	for range n {
		if form := r.byte(); r.err == nil && form != 0x60 {
			r.unsupported("a type of form %#x", form)
		}
		params := r.count("parameters", 1, maxValues)
		for range params {
			valueType(r)
		}
		for range r.count("results", 1, maxValues) {
			valueType(r)
		}
		if r.err != nil {
			return
		}
		m.params = append(m.params, params)
	}
}

func valueType(r *reader) {
	if c := r.byte(); r.err == nil && !isValue(c) {
		r.unsupported("value type %#x", c)
	}
}

func isValue(c byte) bool { return c >= 0x7b && c <= 0x7f || isReference(c) }

func isReference(c byte) bool { return c == funcref || c == externref }

// reference reads what ref.null is of. Behind any other byte the engine would
// look for the number of a type, and see different code behind that.
func reference(r *reader) {
	if c := r.byte(); r.err == nil && !isReference(c) {
		r.unsupported("a reference to %#x", c)
	}
}

func (m *module) importSection(r *reader) {
	n := r.count("imports", 4, maxImports)
	m.imports = entries{n, slices.Clone(r.b[r.pos:])}
	for ; n > 0 && r.err == nil; n-- {
		module, name := r.name(), r.name()
		if strings.HasPrefix(module, Reserved) {
			r.fail(ErrReserved, "import %.64q.%.64q", module, name)
		}
		switch kind := r.byte(); kind {
		case kindFunc:
			m.funcs = append(m.funcs, r.index("type", len(m.params)))
			m.imported++
		case kindTable:
			m.table(r)
			m.tabled = true
		case kindMemory:
			m.memory(r)
		case kindGlobal:
			m.global(r)
			m.tabled = true
		default:
			r.unsupported("an import of kind %d", kind)
		}
	}
}

func (m *module) table(r *reader) {
	typ := r.byte()
	if r.err == nil && !isReference(typ) {
		r.unsupported("a table of %#x", typ)
	}
	limits(r, "a table")
	m.tables = append(m.tables, typ)
	if len(m.tables) > maxTables {
		r.fail(ErrTooBig, "more than %d tables", maxTables)
	}
}

// limits passes over the least and the greatest size.
func limits(r *reader, what string) {
	flags := r.byte()
	if r.err == nil && flags > 1 {
		r.unsupported("%s with limits of kind %d", what, flags)
	}
	r.u32()
	if flags == 1 {
		r.u32()
	}
}

func (m *module) memory(r *reader) {
	limits(r, "a memory")
	m.memories++
	if m.memories > 1 {
		r.unsupported("a second memory")
	}
}

func (m *module) global(r *reader) {
	valueType(r)
	if c := r.byte(); r.err == nil && c > 1 {
		r.fail(ErrDamaged, "a global that is neither constant nor variable (%#x)", c)
	}
	m.globals++
	if m.globals > maxGlobals {
		r.fail(ErrTooBig, "more than %d globals", maxGlobals)
	}
}

func (m *module) globalSection(r *reader) {
	for n := r.count("globals", 4, maxGlobals); n > 0 && r.err == nil; n-- {
		start := r.pos
		known := m.globals // an expression sees only those before it
		m.global(r)
		m.globalsOf.add(r.b[start:r.pos]...)
		m.globalsOf.b = m.constant(r, known, m.globalsOf.b)
	}
}

func (m *module) exportSection(r *reader) {
	for n := r.count("exports", 3, maxExports); n > 0 && r.err == nil; n-- {
		start := r.pos
		if name := r.name(); strings.HasPrefix(name, Reserved) {
			r.fail(ErrReserved, "export %.64q", name)
		}
		kind := r.byte()
		m.exports.add(r.b[start:r.pos]...)
		var i uint32
		switch kind {
		case kindFunc:
			i = m.refer(r.index("function", len(m.funcs)))
		case kindGlobal:
			i = r.index("global", m.globals)
		case kindTable, kindMemory:
			i = r.u32()
		default:
			r.unsupported("an export of kind %d", kind)
		}
		m.exports.b = binary.AppendUvarint(m.exports.b, uint64(i))
	}
}

func (m *module) codeSection(r *reader) {
	n := r.count("function bodies", 3, maxFunctions)
	if r.err == nil && n != len(m.funcs)-m.imported {
		r.fail(ErrDamaged, "%d functions are declared, but there are %d bodies", len(m.funcs)-m.imported, n)
	}
	m.code = entries{n: n, b: make([]byte, 0, len(r.b)+len(r.b)/2)}
	w := walk{m: m}
	for i := 0; i < n && r.err == nil; i++ {
		size := r.u32()
		if size > maxFunction {
			r.fail(ErrTooBig, "function %d has %d bytes; %d are taken", m.imported+i, size, maxFunction)
			return
		}
		body := &reader{b: r.take(size)}
		if r.err != nil {
			return
		}
		w.function(body, m.params[m.funcs[m.imported+i]])
		var u *Unsupported
		switch {
		case errors.As(body.err, &u):
			r.err = &Unsupported{What: u.What, Func: m.imported + i}
		case body.err != nil:
			r.err = fmt.Errorf("function %d: %w", m.imported+i, body.err)
		}
		m.code.b = binary.AppendUvarint(m.code.b, uint64(len(w.out)))
		m.code.b = append(m.code.b, w.out...)
	}
}
