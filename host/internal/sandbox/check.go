package sandbox

import (
	"bytes"
	"fmt"
)

// The engine makes room for whatever a binary declares before it looks whether
// the bytes are there, and its compile time grows faster than the code for
// some shapes. These bounds hold before it sees a module. Where the JavaScript
// embedding of Wasm names a bound, it is not exceeded here.
const (
	defaultModule  = 64 << 20 // bytes of a module
	maxTypes       = 100_000
	maxImports     = 10_000
	maxFunctions   = 500_000
	maxTables      = 100
	maxGlobals     = 100_000
	maxExports     = 100_000
	maxSegments    = 100_000
	maxEntries     = 1_000_000 // function references in all element segments
	maxTable       = 500_000   // entries of all tables, which each instance has for itself
	maxGrown       = 100_000   // entries that a table may grow to
	maxParams      = 1_000
	maxResults     = 100
	maxTypeValues  = 1_000_000 // parameters and results of all types
	maxBlockParams = 100
	maxPassed      = 2_000_000  // values that the calls of one function pass and return
	maxLocals      = 50_000     // of one function, parameters included
	maxLocalsAll   = 10_000_000 // of all functions
	maxFunction    = 7_654_321  // bytes of one function
	maxBranches    = 50_000     // blocks, conditional branches and targets of one function
	maxName        = 100_000    // bytes of one name
	pageSize       = 64 << 10
	maxPages       = 65_536
)

// funcType is a signature in the binary's own letters, e.g. "\x7f\x7f".
type funcType struct{ params, results string }

const (
	valI32 = "\x7f"
	valI64 = "\x7e"
	valF64 = "\x7c"
)

// String writes the signature as the text format would, e.g. "(i32 i32) -> (i64)".
func (t funcType) String() string {
	return "(" + valueNames(t.params) + ") -> (" + valueNames(t.results) + ")"
}

func valueNames(s string) string {
	var b bytes.Buffer
	for i := range len(s) {
		if i > 0 {
			b.WriteByte(' ')
		}
		switch s[i] {
		case 0x7f:
			b.WriteString("i32")
		case 0x7e:
			b.WriteString("i64")
		case 0x7d:
			b.WriteString("f32")
		case 0x7c:
			b.WriteString("f64")
		case 0x7b:
			b.WriteString("v128")
		case 0x70:
			b.WriteString("funcref")
		case 0x6f:
			b.WriteString("externref")
		}
	}
	return b.String()
}

func valueType(c byte) bool {
	return c >= 0x7b && c <= 0x7f || c == 0x70 || c == 0x6f
}

// What an import or export is.
const (
	kindFunc   = 0
	kindTable  = 1
	kindMemory = 2
	kindGlobal = 3
)

type imported struct {
	module, name string
	kind         byte
	typ          funcType // of a function
}

type exported struct {
	kind  byte
	index uint32
}

// sizes are the limits of a table or memory; without a bound, max is the
// largest number.
type sizes struct {
	min, max uint32
	bounded  bool
}

// anatomy is what a binary is made of, as far as its admission depends on it.
type anatomy struct {
	types     []funcType
	imports   []imported
	funcs     []uint32 // type of each function, imported ones first
	own       int      // functions that are not imported
	tables    []sizes
	globals   int
	memories  int // defined, not imported
	memory    sizes
	exports   map[string]exported
	exportOrd []string
	start     bool
	code      bool            // the code section was there
	codeSize  int             // bytes of the code section
	locals    int             // of all functions so far
	entries   int             // of all element segments so far
	segments  int             // of elements and of data
	effort    int             // of compiling, as far as it is not linear
	grows     [maxTables]bool // tables that an instruction grows
	custom    []string
}

// decode takes a binary apart and holds it against the bounds. It does not
// validate code: that is left to the engine, which may then trust every count.
func decode(wasm []byte, most int64) (_ *anatomy, err error) {
	defer func() { err = hinted(err) }()
	if int64(len(wasm)) > most {
		return nil, &Refusal{
			Reason: TooBig, Problem: fmt.Sprintf("the module has %d bytes; the limit is %d", len(wasm), most),
			Hint: "strip debug information, or raise the limit",
		}
	}
	if len(wasm) < 8 || string(wasm[:4]) != "\x00asm" {
		return nil, &Refusal{Reason: NotWasm, Problem: "this is not a Wasm binary", Hint: "give the .wasm file that the compiler wrote"}
	}
	switch string(wasm[4:8]) {
	case "\x01\x00\x00\x00":
	case "\x0d\x00\x01\x00":
		return nil, &Refusal{
			Reason: IsComponent, Problem: "this is a Wasm component, not a core module",
			Hint: "build for wasip1 or wasm32-unknown-unknown, not for wasip2",
		}
	default:
		return nil, &Refusal{Reason: NotWasm, Problem: fmt.Sprintf("Wasm binary of an unknown version % x", wasm[4:8])}
	}
	a := &anatomy{exports: map[string]exported{}}
	r := &reader{b: wasm, pos: 8}
	last := 0
	for !r.done() {
		id := r.byte()
		body := r.take(r.u32())
		if r.err != nil {
			break
		}
		if id == 0 {
			if err := a.customSection(body); err != nil {
				return nil, within(err, "custom section")
			}
			continue
		}
		// Sections come once and in this order; data count (12) stands before code.
		order := bytes.IndexByte([]byte{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 10, 11}, id)
		if id == 13 {
			r.fail(Unsupported, "the module needs exception handling, which is not offered")
		} else if order < 0 {
			r.fail(Damaged, "section of an unknown kind %d", id)
		} else if order <= last {
			r.fail(Damaged, "section %s is repeated or out of order", sectionName(id))
		}
		if r.err != nil {
			break
		}
		last = order
		a.section(id, body)
		body.end("section " + sectionName(id))
		if body.err != nil {
			return nil, within(body.err, "section "+sectionName(id))
		}
	}
	if r.err != nil {
		return nil, r.err
	}
	return a, a.consistent()
}

// within says in which part of the module a problem lies.
func within(err error, where string) error {
	if r, ok := err.(*Refusal); ok { //nolint:errorlint // made here, never wrapped
		return &Refusal{Reason: r.Reason, Problem: where + ": " + r.Problem, Hint: r.Hint}
	}
	return err
}

func sectionName(id byte) string {
	names := []string{"custom", "type", "import", "function", "table", "memory", "global", "export", "start", "element", "code", "data", "data count"}
	if int(id) < len(names) {
		return names[id]
	}
	return fmt.Sprint(id)
}

func (a *anatomy) section(id byte, r *reader) {
	switch id {
	case 1:
		a.typeSection(r)
	case 2:
		a.importSection(r)
	case 3:
		a.own = r.count("functions", 1, maxFunctions)
		for i := 0; i < a.own && r.err == nil; i++ {
			a.addFunc(r)
		}
	case 4:
		for n := r.count("tables", 3, maxTables); n > 0 && r.err == nil; n-- {
			a.addTable(r)
		}
	case 5:
		a.memories = r.count("memories", 2, 1)
		if a.memories == 1 {
			a.memory = a.memoryType(r)
		}
	case 6:
		a.globalSection(r)
	case 7:
		a.exportSection(r)
	case 8:
		r.u32()
		a.start = true
	case 9:
		for n := r.count("element segments", 2, maxSegments); n > 0 && r.err == nil; n-- {
			a.element(r)
			a.segments++
		}
	case 10:
		a.codeSection(r)
	case 11:
		for n := r.count("data segments", 2, maxSegments); n > 0 && r.err == nil; n-- {
			a.data(r)
			a.segments++
		}
	case 12:
		r.u32()
	}
}

// consistent looks at what no section alone can tell.
func (a *anatomy) consistent() error {
	if !a.code && a.own > 0 {
		return &Refusal{Reason: Damaged, Problem: fmt.Sprintf("%d functions are declared, but there is no code", a.own)}
	}
	entries := 0
	for i, t := range a.tables {
		most := t.min
		if a.grows[i] {
			most = max(most, min(t.max, maxGrown))
		}
		if entries += int(most); entries > maxTable {
			return &Refusal{
				Reason: TooBig, Problem: fmt.Sprintf("tables of more than %d entries in all", maxTable),
				Hint: "declare smaller ones, and a maximum for those that grow",
			}
		}
	}
	return nil
}

// signature is the type of a function by its index.
func (a *anatomy) signature(index uint32) (funcType, bool) {
	if int64(index) >= int64(len(a.funcs)) {
		return funcType{}, false
	}
	return a.types[a.funcs[index]], true
}
