package sandbox

import (
	"encoding/binary"
	"slices"

	"github.com/wasmjob/wasmjob/abi"
	"github.com/wasmjob/wasmjob/host/internal/wasm"
)

const (
	kindFunc   = wasm.KindFunc
	kindMemory = wasm.KindMemory
)

// builder assembles small modules for tests: there is no assembler, and raw bytes would
// be hard to read.
type builder struct {
	types, imports, funcs, globals, exports, bodies, data [][]byte
	imported                                              uint32
	table, memory, element, start                         []byte
	customSections                                        []byte
	dataCount                                             uint32 // 0: not declared
}

func uleb(n uint32) []byte { return binary.AppendUvarint(nil, uint64(n)) }

func sleb(n int64) []byte {
	var b []byte
	for {
		c := byte(n & 0x7f)
		n >>= 7
		if n == 0 && c&0x40 == 0 || n == -1 && c&0x40 != 0 {
			return append(b, c)
		}
		b = append(b, c|0x80)
	}
}

func text(s string) []byte { return append(uleb(uint32(len(s))), s...) }

func section(id byte, body []byte) []byte {
	return slices.Concat([]byte{id}, uleb(uint32(len(body))), body)
}

func vector(entries [][]byte) []byte {
	return append(uleb(uint32(len(entries))), slices.Concat(entries...)...)
}

func (b *builder) typ(params, results string) uint32 {
	t := slices.Concat([]byte{0x60}, text(params), text(results))
	for i, old := range b.types {
		if string(old) == string(t) {
			return uint32(i)
		}
	}
	b.types = append(b.types, t)
	return uint32(len(b.types) - 1)
}

// fromHost imports a function. All imports must come before the first function.
func (b *builder) fromHost(module, name, params, results string) uint32 {
	b.imports = append(b.imports, slices.Concat(text(module), text(name), []byte{kindFunc}, uleb(b.typ(params, results))))
	b.imported++
	return b.imported - 1
}

// abi imports a function of the ABI with its correct signature.
func (b *builder) abi(name string) uint32 {
	for _, f := range hostFunctions() {
		if f.name == name {
			return b.fromHost(abi.Module, name, f.typ.Params, f.typ.Results)
		}
	}
	panic(name)
}

// fn adds a function with i32 locals. The code comes without the final end.
func (b *builder) fn(params, results string, locals uint32, code ...[]byte) uint32 {
	b.funcs = append(b.funcs, uleb(b.typ(params, results)))
	body := slices.Concat([]byte{1}, uleb(locals), []byte{0x7f}, slices.Concat(code...), []byte{0x0b})
	b.bodies = append(b.bodies, append(uleb(uint32(len(body))), body...))
	return b.imported + uint32(len(b.funcs)) - 1
}

func (b *builder) export(name string, kind byte, index uint32) *builder {
	b.exports = append(b.exports, slices.Concat(text(name), []byte{kind}, uleb(index)))
	return b
}

func (b *builder) pages(n uint32) *builder {
	b.memory = append([]byte{1, 0}, uleb(n)...)
	return b
}

// starting sets the start function.
func (b *builder) starting(f uint32) *builder {
	b.start = uleb(f)
	return b
}

// putData puts data into the memory.
func (b *builder) putData(offset int64, data string) *builder {
	b.data = append(b.data, slices.Concat([]byte{0, 0x41}, sleb(offset), []byte{0x0b}, text(data)))
	return b
}

func (b *builder) bytes() []byte {
	out := []byte("\x00asm\x01\x00\x00\x00")
	add := func(id byte, body []byte, there bool) {
		if there {
			out = append(out, section(id, body)...)
		}
	}
	add(1, vector(b.types), len(b.types) > 0)
	add(2, vector(b.imports), len(b.imports) > 0)
	add(3, vector(b.funcs), len(b.funcs) > 0)
	add(4, b.table, b.table != nil)
	add(5, b.memory, b.memory != nil)
	add(6, vector(b.globals), len(b.globals) > 0)
	add(7, vector(b.exports), len(b.exports) > 0)
	add(8, b.start, b.start != nil)
	add(9, b.element, b.element != nil)
	add(12, uleb(b.dataCount), b.dataCount > 0)
	add(10, vector(b.bodies), len(b.bodies) > 0)
	add(11, vector(b.data), len(b.data) > 0)
	return append(out, b.customSections...)
}

// job completes a module: the marker, one page of memory unless there is memory already,
// and an entry with the given code, which must leave an i32.
func (b *builder) job(code ...[]byte) []byte {
	marker := b.fn("", "", 0)
	entry := b.fn("", valI32, 4, code...)
	if b.memory == nil {
		b.pages(1)
	}
	return b.export(abi.ExportMarker, kindFunc, marker).
		export(abi.ExportExecute, kindFunc, entry).
		export(abi.ExportMemory, kindMemory, 0).bytes()
}

// entry adds an export with the given code, which must leave an i32.
func (b *builder) entry(name string, code ...[]byte) *builder {
	return b.export(name, kindFunc, b.fn("", valI32, 4, code...))
}

// guest completes a module like job, with the entries that were added.
func (b *builder) guest() []byte {
	if b.memory == nil {
		b.pages(1)
	}
	return b.export(abi.ExportMarker, kindFunc, b.fn("", "", 0)).export(abi.ExportMemory, kindMemory, 0).bytes()
}

// Instructions.
func i32(n int64) []byte       { return append([]byte{0x41}, sleb(n)...) }
func i64(n int64) []byte       { return append([]byte{0x42}, sleb(n)...) }
func call(f uint32) []byte     { return append([]byte{0x10}, uleb(f)...) }
func getLocal(n uint32) []byte { return append([]byte{0x20}, uleb(n)...) }
func setLocal(n uint32) []byte { return append([]byte{0x21}, uleb(n)...) }
func op(codes ...byte) []byte  { return codes }

// load8 and store8 access a byte, load32 an i32.
func load8(at int64) []byte  { return slices.Concat(i32(at), op(0x2d, 0, 0)) }
func load32(at int64) []byte { return slices.Concat(i32(at), op(0x28, 2, 0)) }
func store8(at int64, value ...[]byte) []byte {
	return slices.Concat(i32(at), slices.Concat(value...), op(0x3a, 0, 0))
}

func store32(at int64, value ...[]byte) []byte {
	return slices.Concat(i32(at), slices.Concat(value...), op(0x36, 2, 0))
}

// when runs code if the condition before it is not 0.
func when(condition []byte, code ...[]byte) []byte {
	return slices.Concat(condition, op(0x04, 0x40), slices.Concat(code...), op(opEnd))
}

// either chooses between two values.
func either(condition, then, otherwise []byte) []byte {
	return slices.Concat(condition, op(0x04, 0x7f), then, op(0x05), otherwise, op(opEnd))
}

// constants pushes numbers.
func constants(numbers ...int64) []byte {
	var code []byte
	for _, n := range numbers {
		code = append(code, i32(n)...)
	}
	return code
}

// invokes calls f with constants.
func invokes(f uint32, args ...int64) []byte { return append(constants(args...), call(f)...) }

func plus(a, b []byte) []byte { return slices.Concat(a, b, op(opI32Add)) }

func drop(code []byte) []byte { return append(slices.Clip(code), opDrop) }

const (
	opUnreachable = 0x00
	opDrop        = 0x1a
	opEnd         = 0x0b
	opI32Add      = 0x6a
	opWrapI64     = 0xa7
)

// forever is a loop without an end.
func forever() []byte { return op(0x03, 0x40, 0x0c, 0x00, opEnd, opUnreachable) }
