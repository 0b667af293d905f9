package meter

import (
	"encoding/binary"
	"slices"
	"strings"
)

// assemble puts the module together, with what was added to it. The stamp at
// the end makes the output of another version another module to every cache.
func (m *module) assemble(size int) []byte {
	m.addAll()
	m.raw[secType] = m.types.section()
	m.raw[secImport] = m.imports.section()
	m.raw[secFunction] = m.functions.section()
	m.raw[secGlobal] = m.globalsOf.section()
	m.raw[secExport] = m.exports.section()
	m.raw[secElement] = m.elements.section()
	m.raw[secCode] = m.code.section()
	m.raw[secStart] = nil

	out := make([]byte, 0, size+len(m.code.b))
	out = append(out, "\x00asm\x01\x00\x00\x00"...)
	customs := m.customs
	for rank := -1; rank < len(sectionOrder); rank++ {
		if rank >= 0 {
			if id := sectionOrder[rank]; len(m.raw[id]) > 0 {
				out = appendSection(out, id, m.raw[id])
			}
		}
		for len(customs) > 0 && customs[0].rank == rank {
			out = appendSection(out, secCustom, customs[0].body)
			customs = customs[1:]
		}
	}
	out = appendSection(out, secCustom, m.nameSection())
	return appendSection(out, secCustom, append(text(Reserved), Version))
}

// addAll adds types, the import, functions, globals and the exports.
func (m *module) addAll() {
	yield := m.addType([]byte{i64}, []byte{i64})
	m.imports.add(slices.Concat(text(ImportModule), text(ImportYield), []byte{kindFunc}, yield)...)
	known := map[string][]byte{}
	for _, h := range m.added() {
		key := string(h.params) + " " + string(h.results)
		if known[key] == nil {
			known[key] = m.addType(h.params, h.results)
		}
		m.functions.add(known[key]...)
		m.code.add(binary.AppendUvarint(nil, uint64(len(h.body)))...)
		m.code.b = append(m.code.b, h.body...)
	}
	m.globalsOf.add(i64, 1, 0x42, 0, 0x0b) // variable, i64.const 0
	m.addReferences()
	m.addExport(ExportLeft, kindGlobal, uint32(m.globals))
	if m.start != nil {
		m.addExport(ExportStart, kindFunc, m.firstHelper()+uint32(len(m.helpers)))
	}
}

func (m *module) addType(params, results []byte) []byte {
	i := binary.AppendUvarint(nil, uint64(m.types.n))
	m.types.add(slices.Concat([]byte{0x60, byte(len(params))}, params, []byte{byte(len(results))}, results)...)
	return i
}

func (m *module) addExport(name string, kind byte, i uint32) {
	m.exports.add(binary.AppendUvarint(append(text(name), kind), uint64(i))...)
}

// section is the content of a section, or nothing.
func (e entries) section() []byte {
	if e.n == 0 {
		return nil
	}
	return append(binary.AppendUvarint(nil, uint64(e.n)), e.b...)
}

func appendSection(out []byte, id byte, body []byte) []byte {
	out = binary.AppendUvarint(append(out, id), uint64(len(body)))
	return append(out, body...)
}

func text(s string) []byte {
	return append(binary.AppendUvarint(nil, uint64(len(s))), s...)
}

// appendSigned writes a signed LEB128 number.
func appendSigned(b []byte, v int64) []byte {
	for v < -64 || v > 63 {
		b = append(b, byte(v)&0x7f|0x80)
		v >>= 7
	}
	return append(b, byte(v)&0x7f)
}

// putPadded writes a number below 1<<27 as signed LEB128 of four bytes.
func putPadded(b []byte, v int) {
	for i := range 3 {
		b[i] = byte(v>>(7*i))&0x7f | 0x80
	}
	b[3] = byte(v >> 21)
}

// custom keeps or drops a custom section.
func (m *module) custom(body []byte, rank int) error {
	r := &reader{b: body}
	name := r.name()
	if r.err != nil {
		return r.err
	}
	switch {
	case name == "name" && m.names == nil:
		// Rewritten later, when it is known how many functions are imported.
		m.names = body
	case name == "name",
		strings.HasPrefix(name, ".debug_"), strings.HasPrefix(name, "reloc."), strings.HasPrefix(name, "metadata.code."),
		name == "linking", name == "sourceMappingURL", name == "external_debug_info":
		m.drop(name) // a second list is one too many; the others speak of places in the code
	default:
		m.customs = append(m.customs, custom{rank, body})
	}
	return nil
}

func (m *module) drop(name string) {
	if len(m.dropped) < 64 {
		m.dropped = append(m.dropped, name)
	}
}
