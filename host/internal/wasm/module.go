package wasm

import (
	"fmt"
	"strings"
)

// Limits of a module. The engine allocates memory for declared counts before it checks
// that the bytes exist, its time grows faster than the code for some code, and each
// entry takes more memory than bytes of the binary. No limit exceeds that of the
// JavaScript embedding of Wasm.
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
	maxConstant    = 16 // instructions of a constant expression
	maxBlockParams = 100

	// MaxTables is the maximum number of tables of a module.
	MaxTables = 100
	// MaxName is the maximum length of a name in bytes.
	MaxName = 100_000
	// MaxPages is the maximum number of pages of a memory.
	MaxPages = 65_536

	maxLocals   = 50_000    // of one function, including parameters
	maxFunction = 7_654_321 // bytes of one function
	maxBranches = 50_000    // blocks, conditional branches and targets of one function
)

// Section IDs.
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
	// Sections is the number of section IDs.
	Sections
)

// Order is the order of sections in a binary: data count is before code.
var Order = [...]byte{ // read only
	SectionType, SectionImport, SectionFunction, SectionTable, SectionMemory, SectionGlobal, SectionExport, SectionStart,
	SectionElement, SectionDataCount, SectionCode, SectionData,
}

// Kinds of imports and exports.
const (
	KindFunc = iota
	KindTable
	KindMemory
	KindGlobal
)

// Value types.
const (
	I32       = 0x7f
	I64       = 0x7e
	F32       = 0x7d
	F64       = 0x7c
	V128      = 0x7b
	Funcref   = 0x70
	Externref = 0x6f
)

// Module is a decoded module. It refers to the decoded bytes and is read-only, so it
// is safe for concurrent use.
type Module struct {
	Size           int // bytes
	Types          []FuncType
	Imports        []Import
	Imported       int      // imported functions
	Funcs          []uint32 // type of each function, imported ones first
	Tables         []Table  // imported ones first
	Memory         *Limits  // defined by the module; nil: none, or imported
	Globals        int      // including imported ones
	MutableGlobals int      // mutable globals
	Exports        []Export
	Start          *uint32  // function; nil: none
	Entries        int      // entries of all element segments
	Segments       int      // element and data segments
	Bodies         [][]byte // of functions that are not imported
	Customs        []Custom // in their order
	Sections       [Sections]Section

	boundsFactor int // factor for the limits
	memories     int
	byName       map[string]int // indexes of Exports
}

// FuncType is a signature, with value types as in the binary, e.g. "\x7f\x7f".
type FuncType struct{ Params, Results string }

// Import is an import of a module.
type Import struct {
	Module, Name string
	Kind         byte
	Type         FuncType // of a function
}

// Export is an export of a module.
type Export struct {
	Name  string
	Kind  byte
	Index uint32
}

// Limits are the sizes of a table or a memory. If they are not bounded, Max is the
// largest number.
type Limits struct {
	Min, Max uint32
	Bounded  bool
}

// Table is a table and its element type.
type Table struct {
	Elem byte
	Limits
}

// Section is the content of a section. If it is a list, N is the number of Entries.
type Section struct {
	Body    []byte // nil: no such section
	N       int
	Entries []byte
	// Refs are the function indexes in Entries, in exports, elements and constant
	// expressions.
	Refs []Ref
}

// Ref is a function index and its position in the entries.
type Ref struct{ From, To, Func uint32 }

// Custom is a custom section. It follows the section with index Rank in Order, or,
// for -1, precedes all sections.
type Custom struct {
	Name string
	Body []byte // including the name
	Rank int
}

// Type returns the type of a function by its index.
func (m *Module) Type(f uint32) (FuncType, bool) {
	if int64(f) >= int64(len(m.Funcs)) {
		return FuncType{}, false
	}
	return m.Types[m.Funcs[f]], true
}

// Export returns an export by its name.
func (m *Module) Export(name string) (Export, bool) {
	i, ok := m.byName[name]
	if !ok {
		return Export{}, false
	}
	return m.Exports[i], true
}

// String returns the signature in text form, e.g. "(i32 i32) -> (i64)", with at most
// maxValueNames parameters and results.
func (t FuncType) String() string {
	return "(" + valueNames(t.Params) + ") -> (" + valueNames(t.Results) + ")"
}

var typeNames = map[byte]string{ // read only
	I32: "i32", I64: "i64", F32: "f32", F64: "f64", V128: "v128", Funcref: "funcref", Externref: "externref",
}

// maxValueNames is how many parameters, and how many results, a text form has at most: a type
// has up to a thousand, and many messages name it.
const maxValueNames = 20

// valueNames returns the names of value types, separated by spaces.
func valueNames(s string) string {
	names := make([]string, min(len(s), maxValueNames))
	for i := range names {
		names[i] = typeNames[s[i]]
	}
	if more := len(s) - len(names); more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names, " "), more)
	}
	return strings.Join(names, " ")
}

func isValue(c byte) bool { return c >= V128 && c <= I32 || IsReference(c) }

// IsReference reports whether a value type is a reference type.
func IsReference(c byte) bool { return c == Funcref || c == Externref }
