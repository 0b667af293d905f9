package wasm

import "strings"

// Bounds of what is taken. The engine makes room for whatever a binary declares
// before it looks whether the bytes are there, its time grows faster than the
// code for some shapes, and each entry costs more here than in the binary. Where
// the JavaScript embedding of Wasm names a bound, it is not exceeded.
const (
	maxTypes       = 100_000
	maxParams      = 1_000
	maxResults     = 100
	maxTypeValues  = 1_000_000 // parameters and results of all types
	maxImports     = 10_000
	maxFunctions   = 500_000
	maxGlobals     = 100_000
	maxExports     = 100_000
	maxSegments    = 100_000
	maxEntries     = 1_000_000 // references in all element segments
	maxCustoms     = 10_000
	maxConstant    = 16 // steps of a constant expression
	maxBlockParams = 100

	// MaxTables bounds the tables of a module.
	MaxTables = 100
	// MaxName bounds the bytes of one name.
	MaxName = 100_000
	// MaxPages is how many pages a memory can have.
	MaxPages = 65_536

	maxLocals   = 50_000    // of one function, parameters included
	maxFunction = 7_654_321 // bytes of one function
	maxBranches = 50_000    // blocks, conditional branches and targets of one function
)

// Sections of a binary, by their numbers.
const (
	SectionCustom = iota
	SectionType
	SectionImport
	SectionFunction
	SectionTable
	SectionMemory
	SectionGlobal
	SectionExport
	SectionStart
	SectionElement
	SectionCode
	SectionData
	SectionDataCount
	// Sections is above every number of a section.
	Sections
)

// Order is the order in which sections stand: data count before code.
var Order = [...]byte{ // read only
	SectionType, SectionImport, SectionFunction, SectionTable, SectionMemory, SectionGlobal, SectionExport, SectionStart,
	SectionElement, SectionDataCount, SectionCode, SectionData,
}

// What an import or export is.
const (
	KindFunc = iota
	KindTable
	KindMemory
	KindGlobal
)

// Types of values.
const (
	I32       = 0x7f
	I64       = 0x7e
	F32       = 0x7d
	F64       = 0x7c
	V128      = 0x7b
	Funcref   = 0x70
	Externref = 0x6f
)

// Module is a module taken apart. It refers to the bytes that it was decoded
// from, and is not changed afterwards: any number of goroutines may read it.
type Module struct {
	Size           int // bytes
	Types          []FuncType
	Imports        []Import
	Imported       int      // functions among them
	Funcs          []uint32 // type of each function, imported ones first
	Tables         []Table  // imported ones first
	Memory         *Limits  // its own; nil: none, or an imported one
	Globals        int      // imported ones included
	MutableGlobals int      // globals that code may set
	Exports        []Export
	Start          *uint32  // function; nil: none
	Entries        int      // of all element segments
	Segments       int      // of elements and of data
	Bodies         [][]byte // of the functions that are not imported
	Customs        []Custom // in their order
	Sections       [Sections]Section

	boundsFactor int // how many times as wide as usual the bounds are
	memories     int
	byName       map[string]int // in Exports
}

// FuncType is a signature in the binary's own letters, e.g. "\x7f\x7f".
type FuncType struct{ Params, Results string }

// Import is what a module asks of its host.
type Import struct {
	Module, Name string
	Kind         byte
	Type         FuncType // of a function
}

// Export is what a module offers.
type Export struct {
	Name  string
	Kind  byte
	Index uint32
}

// Limits are the sizes of a table or memory; without a bound, Max is the
// largest number.
type Limits struct {
	Min, Max uint32
	Bounded  bool
}

// Table is a table and the type of its elements.
type Table struct {
	Elem byte
	Limits
}

// Section is the content of a section. Of one that is a list, N says how many
// Entries there are.
type Section struct {
	Body    []byte // nil: not there
	N       int
	Entries []byte
	// Refs are the indexes of functions in Entries that exports, elements and
	// constant expressions speak of.
	Refs []Ref
}

// Ref is an index of a function, and where in the entries it stands.
type Ref struct{ From, To, Func uint32 }

// Custom is a custom section. It stands behind the section that has the place
// Rank in Order, or, for -1, before all.
type Custom struct {
	Name string
	Body []byte // the name included
	Rank int
}

// Type is the type of a function by its index, if there is one.
func (m *Module) Type(f uint32) (FuncType, bool) {
	if int64(f) >= int64(len(m.Funcs)) {
		return FuncType{}, false
	}
	return m.Types[m.Funcs[f]], true
}

// Export finds an export by its name.
func (m *Module) Export(name string) (Export, bool) {
	i, ok := m.byName[name]
	if !ok {
		return Export{}, false
	}
	return m.Exports[i], true
}

// String writes the signature as the text format would, e.g. "(i32 i32) -> (i64)".
func (t FuncType) String() string {
	return "(" + valueNames(t.Params) + ") -> (" + valueNames(t.Results) + ")"
}

func valueNames(s string) string {
	names := make([]string, len(s))
	for i := range len(s) {
		switch s[i] {
		case I32:
			names[i] = "i32"
		case I64:
			names[i] = "i64"
		case F32:
			names[i] = "f32"
		case F64:
			names[i] = "f64"
		case V128:
			names[i] = "v128"
		case Funcref:
			names[i] = "funcref"
		case Externref:
			names[i] = "externref"
		}
	}
	return strings.Join(names, " ")
}

func isValue(c byte) bool { return c >= V128 && c <= I32 || IsReference(c) }

// IsReference says whether a type of values is one of references.
func IsReference(c byte) bool { return c == Funcref || c == Externref }
