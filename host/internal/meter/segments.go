package meter

import "encoding/binary"

// constant copies the expression that gives a global, an offset or an element
// its first value.
func (m *module) constant(r *reader, globals int, out []byte) []byte {
	for range maxConstant {
		start := r.pos
		op := r.byte()
		switch op {
		case 0x0b: // end
		case 0x41:
			r.signed(32)
		case 0x42:
			r.signed(64)
		case 0x43:
			r.take(4)
		case 0x44:
			r.take(8)
		case 0x23: // global.get
			r.index("global", globals)
		case 0xd0: // ref.null
			reference(r)
		case 0xd2: // ref.func
			i := r.index("function", len(m.funcs))
			out = binary.AppendUvarint(append(out, op), uint64(m.refer(i)))
			start = r.pos
		case 0xfd: // v128.const
			if r.u32() != 12 {
				r.unsupported("a vector instruction in a constant expression")
			}
			r.take(16)
		default:
			r.unsupported("instruction %#x in a constant expression", op)
		}
		if r.err != nil {
			return out
		}
		out = append(out, r.b[start:r.pos]...)
		if op == 0x0b {
			return out
		}
	}
	r.fail(ErrTooBig, "a constant expression of more than %d steps", maxConstant)
	return out
}

// elementSection copies element segments; their flags say which parts they have.
func (m *module) elementSection(r *reader) {
	for n := r.count("element segments", 2, maxSegments); n > 0 && r.err == nil; n-- {
		start := r.pos
		flags := r.u32()
		if flags > 7 {
			r.unsupported("an element segment of kind %d", flags)
			return
		}
		active, explicit, exprs := flags&1 == 0, flags&2 != 0, flags&4 != 0
		if active && explicit {
			r.u32()
		}
		out := append(m.elements.b, r.b[start:r.pos]...)
		if active {
			out = m.constant(r, m.globals, out)
		}
		start = r.pos
		if !active || explicit {
			kind := r.byte()
			if r.err == nil && (exprs && !isReference(kind) || !exprs && kind != 0) {
				r.unsupported("elements of kind %#x", kind)
			}
		}
		refs := r.count("elements", 1, maxEntries)
		out = append(out, r.b[start:r.pos]...)
		for ; refs > 0 && r.err == nil; refs-- {
			if exprs {
				out = m.constant(r, m.globals, out)
			} else {
				out = binary.AppendUvarint(out, uint64(m.refer(r.index("function", len(m.funcs)))))
			}
		}
		m.elements = entries{m.elements.n + 1, out}
	}
}

// dataSection looks whether the segments are as long as they say; they stay
// as they are.
func (m *module) dataSection(r *reader) {
	for n := r.count("data segments", 2, maxSegments); n > 0 && r.err == nil; n-- {
		flags := r.u32()
		switch flags {
		case 0, 1:
		case 2:
			r.u32()
		default:
			r.unsupported("a data segment of kind %d", flags)
		}
		if flags != 1 {
			m.constant(r, m.globals, nil)
		}
		r.take(r.u32())
	}
}
