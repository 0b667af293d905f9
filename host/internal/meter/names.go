package meter

import (
	"encoding/binary"
	"slices"
	"strconv"
	"unicode/utf8"
)

// Subsections of the name section that go by functions.
const (
	namesFunctions = 1
	namesLocals    = 2
	namesLabels    = 3
)

// nameSection is the content of the name section: what the module says, its
// functions shifted. One that is damaged, or would keep an engine busy, counts
// as none, as names are only a comfort.
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

func (m *module) renamed(body []byte) ([]byte, bool) {
	if len(body) > maxNames {
		return nil, false
	}
	r := &reader{b: body}
	r.name() // of the section
	out := slices.Clone(body[:r.pos])
	named := false
	for !r.done() {
		id := r.byte()
		sub := &reader{b: r.take(r.u32())}
		if r.err != nil {
			break
		}
		if id > namesFunctions && !named {
			out, named = appendSection(out, namesFunctions, m.functionNames(&reader{b: []byte{0}})), true
		}
		part := sub.b
		switch id {
		case 0:
			sub.passName()
			sub.end()
		case namesFunctions:
			part, named = m.functionNames(sub), true
		case namesLocals, namesLabels:
			part = m.innerNames(sub)
		}
		if sub.err != nil {
			return nil, false
		}
		out = appendSection(out, id, part)
	}
	if !named {
		out = appendSection(out, namesFunctions, m.functionNames(&reader{b: []byte{0}}))
	}
	return out, r.err == nil
}

// functionNames copies the names of functions and adds those of the helpers.
// A function without a name gets its number as one: the engine would tell the
// number that it has now.
func (m *module) functionNames(r *reader) []byte {
	var list entries
	next := uint32(m.imported)
	fill := func(to uint32) {
		for ; next < to; next++ {
			list.add(binary.AppendUvarint(nil, uint64(m.shift(next)))...)
			list.b = append(list.b, text("$"+strconv.Itoa(int(next)))...)
		}
	}
	for n := r.count("functions", 2, maxFunctions); n > 0 && r.err == nil; n-- {
		i := r.index("function", len(m.funcs))
		start := r.pos
		r.passName()
		fill(i)
		next = max(next, i+1)
		list.add(binary.AppendUvarint(nil, uint64(m.shift(i)))...)
		list.b = append(list.b, r.b[start:r.pos]...)
	}
	r.end()
	fill(uint32(len(m.funcs)))
	for i, h := range m.added() {
		list.add(binary.AppendUvarint(nil, uint64(m.refill())+uint64(i))...)
		list.b = append(list.b, text(h.name)...)
	}
	return list.section()
}

// innerNames copies lists of names that belong to a function each.
func (m *module) innerNames(r *reader) []byte {
	n := r.count("functions", 2, maxFunctions)
	out := binary.AppendUvarint(make([]byte, 0, len(r.b)+len(r.b)/8), uint64(n))
	for ; n > 0 && r.err == nil; n-- {
		i := m.shift(r.index("function", len(m.funcs)))
		start := r.pos
		for names := r.count("names", 2, len(r.b)); names > 0 && r.err == nil; names-- {
			r.u32()
			r.passName()
		}
		out = append(binary.AppendUvarint(out, uint64(i)), r.b[start:r.pos]...)
	}
	r.end()
	return out
}

// passName passes over a name.
func (r *reader) passName() {
	name := r.take(r.u32())
	if len(name) > maxName {
		r.fail(ErrTooBig, "a name of %d bytes; %d are taken", len(name), maxName)
	}
	if !utf8.Valid(name) {
		r.fail(ErrDamaged, "a name that is not UTF-8")
	}
}
