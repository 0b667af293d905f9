package meter

import (
	"encoding/binary"
	"slices"

	"github.com/wasmjob/wasmjob/host/internal/wasm"
)

// assemble builds the module with its additions. The stamp at the end contains the
// version, so that caches distinguish the output of different versions.
func (m *module) assemble() []byte {
	m.addAll()
	lists := map[byte]entries{
		wasm.SectionType: m.types, wasm.SectionImport: m.imports, wasm.SectionFunction: m.functions, wasm.SectionGlobal: m.globals,
		wasm.SectionExport: m.exports, wasm.SectionElement: m.elements, wasm.SectionCode: m.code,
		wasm.SectionStart: {}, // the start function is exported instead
	}
	out := make([]byte, 0, m.Size+len(m.code.b))
	out = append(out, "\x00asm\x01\x00\x00\x00"...)
	customs := m.customs
	for rank := -1; rank < len(wasm.Order); rank++ { // custom sections keep their places
		if rank >= 0 {
			id := wasm.Order[rank]
			body := m.Sections[id].Body
			if list, ok := lists[id]; ok {
				body = list.section()
			}
			if len(body) > 0 {
				out = appendSection(out, id, body)
			}
		}
		for len(customs) > 0 && customs[0].Rank == rank {
			out = appendSection(out, wasm.SectionCustom, customs[0].Body)
			customs = customs[1:]
		}
	}
	out = appendSection(out, wasm.SectionCustom, m.nameSection())
	return appendSection(out, wasm.SectionCustom, append(text(Reserved), Version))
}

// addAll adds types, the import, functions, globals and exports.
func (m *module) addAll() {
	yield := m.addType([]byte{wasm.I64}, []byte{wasm.I64})
	m.imports.add(slices.Concat(text(ImportModule), text(ImportYield), []byte{wasm.KindFunc}, yield)...)
	known := map[string][]byte{} // encoded index of the type, by its values
	for _, h := range m.addedFunctions() {
		key := string(h.params) + " " + string(h.results)
		if known[key] == nil {
			known[key] = m.addType(h.params, h.results)
		}
		m.functions.add(known[key]...)
		m.code.add(binary.AppendUvarint(nil, uint64(len(h.body)))...)
		m.code.b = append(m.code.b, h.body...)
	}
	m.globals.add(wasm.I64, 1, 0x42, 0, 0x0b) // variable, i64.const 0
	m.addReferences()
	m.addExport(ExportLeft, wasm.KindGlobal, uint32(m.Globals))
	if m.Start != nil {
		m.addExport(ExportStart, wasm.KindFunc, m.firstHelper()+uint32(len(m.helpers)+len(m.payWrappers)))
	}
}

// addType adds a function type, and returns its encoded index.
func (m *module) addType(params, results []byte) []byte {
	i := binary.AppendUvarint(nil, uint64(m.types.n))
	t := binary.AppendUvarint([]byte{0x60}, uint64(len(params)))
	t = binary.AppendUvarint(append(t, params...), uint64(len(results)))
	m.types.add(append(t, results...)...)
	return i
}

// addExport adds an export of the function or global with index i.
func (m *module) addExport(name string, kind byte, i uint32) {
	m.exports.add(binary.AppendUvarint(append(text(name), kind), uint64(i))...)
}

// section returns the content of a list section, or nothing for an empty list.
func (e entries) section() []byte {
	if e.n == 0 {
		return nil
	}
	return append(binary.AppendUvarint(nil, uint64(e.n)), e.b...)
}

// appendSection appends a section, or a subsection of the names.
func appendSection(out []byte, id byte, body []byte) []byte {
	out = binary.AppendUvarint(append(out, id), uint64(len(body)))
	return append(out, body...)
}

// text encodes a name: its length, then its bytes.
func text(s string) []byte {
	return append(binary.AppendUvarint(nil, uint64(len(s))), s...)
}

// appendSigned appends a signed LEB128 number.
func appendSigned(b []byte, v int64) []byte {
	for v < -64 || v > 63 {
		b = append(b, byte(v)&0x7f|0x80)
		v >>= 7
	}
	return append(b, byte(v)&0x7f)
}
