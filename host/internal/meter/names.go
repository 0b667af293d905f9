package meter

import (
	"encoding/binary"
	"slices"
	"strconv"

	"github.com/wasmjob/wasmjob/host/internal/wasm"
)

// Subsections of the name section with function indexes.
const (
	namesFunctions = 1
	namesLocals    = 2
	namesLabels    = 3
)

const maxNames = 32 << 20 // bytes of the name section

// nameSection returns the content of the name section with shifted indexes. A
// damaged section, or a very large one, is dropped, because names are optional.
func (m *module) nameSection() []byte {
	none := text("name")
	if m.names == nil {
		m.names = none
	}
	out, ok := m.renamed(m.names)
	if !ok {
		m.drop("name")
		out, _ = m.renamed(none)
	}
	return out
}

// renamed returns the content of a name section with shifted indexes and the names of
// added functions. It returns false if the section is damaged or very large.
func (m *module) renamed(body []byte) ([]byte, bool) {
	if len(body) > maxNames {
		return nil, false
	}
	r := wasm.NewReader(body)
	r.NameBytes() // the section's name
	out := slices.Clone(r.Since(0))
	named := false
	for last := -1; !r.Done(); {
		id, part := r.Byte(), r.Bytes(r.U32())
		if r.Err() != nil {
			break
		}
		if int(id) <= last { // the standard has each subsection once, in order of their ids
			return nil, false
		}
		last = int(id)
		sub := wasm.NewReader(part)
		if id > namesFunctions && !named { // there are no names of functions, which come before this
			out, named = appendSection(out, namesFunctions, m.functionNames(wasm.NewReader([]byte{0}))), true
		}
		switch id {
		case 0:
			sub.NameBytes()
			sub.End()
		case namesFunctions:
			part, named = m.functionNames(sub), true
		case namesLocals, namesLabels:
			part = m.innerNames(sub)
		}
		if sub.Err() != nil {
			return nil, false
		}
		out = appendSection(out, id, part)
	}
	if !named {
		out = appendSection(out, namesFunctions, m.functionNames(wasm.NewReader([]byte{0})))
	}
	return out, r.Err() == nil
}

// functionNames copies the names of functions and adds those of helpers. A function
// without a name is named after its original index, because the engine would report
// the new one.
func (m *module) functionNames(r *wasm.Reader) []byte {
	var list entries
	next := uint32(m.Imported) // the first function without a name so far
	fill := func(to uint32) {  // names the functions from next to to
		for ; next < to; next++ {
			list.add(binary.AppendUvarint(nil, uint64(m.shiftIndex(next)))...)
			list.b = append(list.b, text("$"+strconv.Itoa(int(next)))...)
		}
	}
	for n := r.Count("functions", 2, len(m.Funcs)); n > 0 && r.Err() == nil; n-- {
		i := r.Index("function", len(m.Funcs))
		start := r.Pos()
		r.NameBytes()
		fill(i)
		next = max(next, i+1)
		list.add(binary.AppendUvarint(nil, uint64(m.shiftIndex(i)))...)
		list.b = append(list.b, r.Since(start)...)
	}
	r.End()
	fill(uint32(len(m.Funcs)))
	for i, h := range m.addedFunctions() {
		list.add(binary.AppendUvarint(nil, uint64(m.refill())+uint64(i))...)
		list.b = append(list.b, text(h.name)...)
	}
	return list.section()
}

// innerNames copies the names of locals or labels, which are listed by function.
func (m *module) innerNames(r *wasm.Reader) []byte {
	n := r.Count("functions", 2, len(m.Funcs))
	out := binary.AppendUvarint(make([]byte, 0, r.Left()+r.Left()/8), uint64(n))
	for ; n > 0 && r.Err() == nil; n-- {
		i := m.shiftIndex(r.Index("function", len(m.Funcs)))
		start := r.Pos()
		for names := r.Count("names", 2, r.Left()); names > 0 && r.Err() == nil; names-- {
			r.U32()
			r.NameBytes()
		}
		out = append(binary.AppendUvarint(out, uint64(i)), r.Since(start)...)
	}
	r.End()
	return out
}
