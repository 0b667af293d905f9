package meter

import "encoding/binary"

// maxReferences bounds the functions that code refers to, each of which has a
// variable added.
const maxReferences = 1_000

// refer is shift for what declares a reference to a function.
func (m *module) refer(i uint32) uint32 {
	m.tabled = m.tabled || int(i) < m.imported
	if m.declared == nil {
		m.declared = make([]bool, len(m.funcs))
	}
	if int64(i) < int64(len(m.declared)) {
		m.declared[i] = true
	}
	return m.shift(i)
}

// reference has ref.func read a variable that has the reference from the
// start. The engine would make another one each time, and keep them all until
// the instance ends, in memory that nobody counts.
func (w *walk) reference(at int, f uint32) {
	r, m := w.r, w.m
	if r.err != nil {
		return
	}
	if m.declared == nil || !m.declared[f] {
		r.fail(ErrDamaged, "a reference to function %d, which is declared nowhere", f)
		return
	}
	i, known := m.variableOf[f]
	if !known {
		if i = len(m.referred); i == maxReferences {
			r.fail(ErrTooBig, "references to more than %d functions", maxReferences)
			return
		}
		m.variableOf[f] = i
		m.referred = append(m.referred, f)
	}
	w.instead(at, binary.AppendUvarint([]byte{0x23}, uint64(m.globals+1+i))...) // behind the balance
}

// addReferences adds the variables.
func (m *module) addReferences() {
	for _, f := range m.referred {
		m.globalsOf.add(funcref, 0)
		m.globalsOf.b = append(binary.AppendUvarint(append(m.globalsOf.b, 0xd2), uint64(m.shift(f))), 0x0b)
	}
}
