package wasm

import (
	"bytes"
	"fmt"
	"math"
	"slices"
)

// Decode decodes a binary and checks limits. It refuses a binary that is damaged,
// too big, or needs features later than WebAssembly 2.0. It does not read code,
// which Code does, and does not validate types.
func Decode(wasm []byte) (*Module, error) { return decode(wasm, 1) }

// DecodeMetered is Decode for a rewritten module, which may exceed the limits of the
// original.
func DecodeMetered(wasm []byte) (*Module, error) { return decode(wasm, 1000) }

// decode decodes a binary with limits multiplied by boundsFactor.
func decode(wasm []byte, boundsFactor int) (*Module, error) {
	if len(wasm) < 8 || string(wasm[:4]) != "\x00asm" {
		return nil, &Fault{Kind: NotWasm, What: "this is not a Wasm binary"}
	}
	switch string(wasm[4:8]) {
	case "\x01\x00\x00\x00":
	case "\x0d\x00\x01\x00":
		return nil, &Fault{Kind: IsComponent, What: "this is a Wasm component, not a core module"}
	default:
		return nil, &Fault{Kind: NotWasm, What: fmt.Sprintf("Wasm binary of an unknown version % x", wasm[4:8])}
	}
	d := decoder{Module: &Module{Size: len(wasm), byName: map[string]int{}, boundsFactor: boundsFactor}}
	rank := -1 // of the last section in Order; -1: none
	for r := (&Reader{b: wasm, pos: 8}); !r.Done(); {
		id := r.Byte()
		body := r.Bytes(r.U32())
		switch next := bytes.IndexByte(Order[:], id); {
		case r.err != nil:
		case id == SectionCustom:
			d.openSection(id, body)
			d.custom(rank)
		case id == 13: // tags of exceptions
			r.Fail(Unsupported, "the module needs exception handling, which is not supported")
		case next < 0:
			r.Fail(Damaged, "section of an unknown kind %d", id)
		case next <= rank:
			r.Fail(Damaged, "section %s is repeated or out of order", sectionName(id))
		default:
			rank = next
			d.openSection(id, body)
			d.readSection(id)
		}
		if r.err != nil {
			return nil, r.err
		}
		if d.err != nil {
			d.err.Where = "section " + sectionName(id)
			return nil, d.err
		}
	}
	if own := len(d.Funcs) - d.Imported; own > 0 && d.Sections[SectionCode].Body == nil {
		return nil, &Fault{Kind: Damaged, What: fmt.Sprintf("%d functions are declared, but there is no code", own)}
	}
	return d.Module, nil
}

func sectionName(id byte) string {
	return [...]string{"custom", "type", "import", "function", "table", "memory", "global", "export", "start", "element", "code", "data", "data count"}[id]
}

// decoder reads one section after the other into the module.
type decoder struct {
	*Module
	Reader
	section *Section
	values  int // parameters and results of all types
}

// openSection makes d read the bytes of a section.
func (d *decoder) openSection(id byte, body []byte) {
	d.Reader = Reader{b: body}
	d.section = &d.Sections[id]
	if id != SectionCustom {
		d.section.Body = body
	}
}

// readSection reads the whole section, except a custom one. The number after a name is how
// many bytes an entry takes at least.
func (d *decoder) readSection(id byte) {
	switch id {
	case SectionType:
		d.list("types", 3, maxTypes, d.functionType)
	case SectionImport:
		d.list("imports", 4, maxImports, d.imported)
	case SectionFunction:
		d.list("functions", 1, maxFunctions, d.function)
	case SectionTable:
		d.list("tables", 3, MaxTables, d.table)
	case SectionMemory:
		d.list("memories", 2, MaxTables, func() {
			l := d.memory()
			d.Memory = &l
		})
	case SectionGlobal:
		d.list("globals", 4, maxGlobals, func() {
			known := d.Globals // an expression can use earlier globals only
			d.global()
			d.constant(known)
		})
	case SectionExport:
		d.list("exports", 3, maxExports, d.export)
	case SectionStart:
		f := d.Index("function", len(d.Funcs))
		d.Start = &f
	case SectionElement:
		d.list("element segments", 2, maxSegments, d.element)
	case SectionCode:
		d.list("function bodies", 3, maxFunctions, d.body)
		if own := len(d.Funcs) - d.Imported; len(d.Bodies) != own {
			d.Fail(Damaged, "%d functions are declared, but there are %d bodies", own, len(d.Bodies))
		}
	case SectionData:
		d.list("data segments", 2, maxSegments, d.data)
	case SectionDataCount:
		d.U32()
	}
	d.End()
}

// list reads a count, and that many entries of at least size bytes each. entry reads one
// of them.
func (d *decoder) list(what string, size, limit int, entry func()) {
	d.section.N = d.Count(what, size, limit*d.boundsFactor)
	d.section.Entries = d.b[d.pos:]
	for n := d.section.N; n > 0 && d.err == nil; n-- {
		entry()
	}
}

// functionRef reads a function index, and records its position, at which the meter writes
// another index.
func (d *decoder) functionRef() uint32 {
	begin := len(d.section.Body) - len(d.section.Entries)
	from := d.pos - begin
	f := d.Index("function", len(d.Funcs))
	d.section.Refs = append(d.section.Refs, Ref{uint32(from), uint32(d.pos - begin), f})
	return f
}

// custom reads the name of a custom section, which follows the section with that rank. Its
// content stays as it is.
func (d *decoder) custom(rank int) {
	name := d.Name() // checked, since the engine would allocate any declared length
	if len(d.Customs) == maxCustoms*d.boundsFactor {
		d.Fail(TooBig, "more than %d custom sections", maxCustoms)
	}
	d.Customs = append(d.Customs, Custom{name, d.b, rank})
}

// functionType reads the type of a function. Each is small, but together they might become
// large.
func (d *decoder) functionType() {
	switch form := d.Byte(); form {
	case 0x60:
	case 0x4e, 0x4f, 0x50, 0x5e, 0x5f:
		d.Fail(Unsupported, "a type of form %#x: garbage collection is not supported", form)
	default:
		d.Fail(Damaged, "a type of an unknown form %#x", form)
	}
	t := FuncType{d.valueTypes("parameters", maxParams), d.valueTypes("results", maxResults)}
	if d.values += len(t.Params) + len(t.Results); d.values > maxTypeValues*d.boundsFactor {
		d.Fail(TooBig, "types of more than %d parameters and results", maxTypeValues)
	}
	d.Types = append(d.Types, t)
}

// valueTypes reads a list of value types, each a byte.
func (d *decoder) valueTypes(what string, limit int) string {
	types := d.Bytes(uint32(d.Count(what, 1, limit)))
	for _, c := range types {
		checkValueType(&d.Reader, c)
	}
	return string(types)
}

// imported reads an import. What it imports precedes the module's own in all index spaces,
// so it is added like those.
func (d *decoder) imported() {
	im := Import{Module: d.Name(), Name: d.Name(), Kind: d.Byte()}
	switch im.Kind {
	case KindFunc:
		d.function()
		d.Imported++
		if d.err == nil {
			im.Type, _ = d.Type(uint32(len(d.Funcs) - 1))
		}
	case KindTable:
		d.table()
	case KindMemory:
		d.memory()
	case KindGlobal:
		d.global()
	default:
		d.Fail(Unsupported, "import %.64q.%.64q of kind %d is not supported", im.Module, im.Name, im.Kind)
	}
	d.Imports = append(d.Imports, im)
}

// function reads the type of a function, whose body comes later or, for an import, never.
func (d *decoder) function() { d.Funcs = append(d.Funcs, d.Index("type", len(d.Types))) }

// table reads the element type and the limits of a table.
func (d *decoder) table() {
	t := Table{Elem: reference(&d.Reader)}
	flags := d.Byte()
	if flags > 1 {
		d.Fail(Unsupported, "a table with limit flags %#x is not supported", flags)
	}
	t.Limits = d.limits(flags)
	if t.Max < t.Min {
		d.Fail(Damaged, "a table of at least %d and at most %d entries", t.Min, t.Max)
	}
	d.Tables = append(d.Tables, t)
	if len(d.Tables) > MaxTables {
		d.Fail(TooBig, "more than %d tables", MaxTables)
	}
}

// memory reads the limits of the memory, of which a module has one at most.
func (d *decoder) memory() Limits {
	flags := d.Byte()
	switch {
	case flags&2 != 0:
		d.Fail(Unsupported, "a shared memory: threads are not supported")
	case flags&4 != 0:
		d.Fail(Unsupported, "a memory with 64-bit addresses, which is not supported")
	case flags > 1:
		d.Fail(Damaged, "a memory with unknown limit flags %#x", flags)
	}
	l := d.limits(flags)
	if l.Min > MaxPages || l.Bounded && l.Max > MaxPages {
		d.Fail(Damaged, "a memory of more than 4 GiB")
	}
	if d.memories++; d.memories > 1 {
		d.Fail(Unsupported, "a second memory is not supported")
	}
	return l
}

// limits reads a minimum and, if the flags say so, a maximum.
func (d *decoder) limits(flags byte) Limits {
	l := Limits{Min: d.U32(), Max: math.MaxUint32, Bounded: flags == 1}
	if l.Bounded {
		l.Max = d.U32()
	}
	return l
}

// global reads the type of a global, without its initial value.
func (d *decoder) global() {
	valueType(&d.Reader)
	c := d.Byte()
	if c > 1 {
		d.Fail(Damaged, "a global that is neither constant nor variable (%#x)", c)
	}
	d.MutableGlobals += int(c)
	if d.Globals++; d.Globals > maxGlobals*d.boundsFactor {
		d.Fail(TooBig, "more than %d globals", maxGlobals)
	}
}

// export reads an export, whose name must be unique.
func (d *decoder) export() {
	e := Export{Name: d.Name(), Kind: d.Byte()}
	switch e.Kind {
	case KindFunc:
		e.Index = d.functionRef()
	case KindGlobal:
		e.Index = d.Index("global", d.Globals)
	case KindTable, KindMemory: // checked by the engine
		e.Index = d.U32()
	default:
		d.Fail(Unsupported, "an export of kind %d is not supported", e.Kind)
	}
	if _, twice := d.byName[e.Name]; twice {
		d.Fail(Damaged, "export %.64q occurs twice", e.Name)
	}
	d.byName[e.Name] = len(d.Exports)
	d.Exports = append(d.Exports, e)
}

// element reads an element segment: functions for a table. Its flags determine its parts.
func (d *decoder) element() {
	flags := d.U32()
	if flags > 7 {
		d.Fail(Unsupported, "an element segment of kind %d is not supported", flags)
	}
	active, explicit, exprs := flags&1 == 0, flags&2 != 0, flags&4 != 0
	if active {
		if explicit {
			d.U32() // index of the table; the engine checks it
		}
		d.constant(d.Globals)
	}
	if !active || explicit {
		if kind := d.Byte(); exprs && !IsReference(kind) || !exprs && kind != 0 {
			d.Fail(Unsupported, "elements of kind %#x are not supported", kind)
		}
	}
	n := d.Count("elements", 1, maxEntries)
	if d.Entries += n; d.Entries > maxEntries {
		d.Fail(TooBig, "element segments of more than %d entries", maxEntries)
	}
	if !exprs {
		d.section.Refs = slices.Grow(d.section.Refs, n)
	}
	for ; n > 0 && d.err == nil; n-- {
		if exprs {
			d.constant(d.Globals)
		} else {
			d.functionRef()
		}
	}
	d.Segments++
}

// body splits off the body of a function. Code reads it later.
func (d *decoder) body() {
	size := d.U32()
	if int64(size) > maxFunction*int64(d.boundsFactor) {
		d.Fail(TooBig, "function %d has %d bytes; the limit is %d", d.Imported+len(d.Bodies), size, maxFunction)
	}
	d.Bodies = append(d.Bodies, d.Bytes(size))
}

// data reads a data segment: bytes for the memory.
func (d *decoder) data() {
	switch flags := d.U32(); flags {
	case 0, 2:
		if flags == 2 {
			d.U32() // index of the memory; the engine checks it
		}
		d.constant(d.Globals)
	case 1:
	default:
		d.Fail(Unsupported, "a data segment of kind %d is not supported", flags)
	}
	d.Bytes(d.U32())
	d.Segments++
}

// constant reads a constant expression: the initial value of a global, an offset or an
// element. globals is how many globals it may read.
func (d *decoder) constant(globals int) {
	for range maxConstant {
		switch op := Op(d.Byte()); op {
		case OpEnd:
			return
		case 0x41:
			d.Signed(32)
		case 0x42:
			d.Signed(64)
		case 0x43:
			d.Bytes(4)
		case 0x44:
			d.Bytes(8)
		case OpGlobalGet:
			d.Index("global", globals)
		case OpRefNull:
			reference(&d.Reader)
		case OpRefFunc:
			d.functionRef()
		case 0xfd:
			if opsFD+Op(d.Byte()) != OpVectorConst {
				d.Fail(Unsupported, "a vector instruction in a constant expression is not supported")
			}
			d.Bytes(16)
		default:
			d.Fail(Unsupported, "instruction %#x in a constant expression is not supported", uint16(op))
		}
		if d.err != nil {
			return
		}
	}
	d.Fail(TooBig, "a constant expression of more than %d instructions", maxConstant)
}
