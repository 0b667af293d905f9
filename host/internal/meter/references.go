package meter

import (
	"encoding/binary"

	"github.com/wasmjob/wasmjob/host/internal/wasm"
)

// maxReferences bounds the functions that code refers to, each of which has a
// variable added.
const maxReferences = 1_000

// reference has ref.func read a variable that has the reference from the
// start. The engine would make another one each time, and keep them all until
// the instance ends, in memory that nobody counts.
func (w *walk) reference() {
	m, f := w.m, w.A
	if !m.declared[f] {
		w.Fail(wasm.Damaged, "a reference to function %d, which is declared nowhere", f)
		return
	}
	m.addressTaken[f] = true
	i, known := m.globalOf[f]
	if !known {
		if i = len(m.referenced); i == maxReferences {
			w.Fail(wasm.TooBig, "references to more than %d functions", maxReferences)
			return
		}
		m.globalOf[f] = i
		m.referenced = append(m.referenced, f)
	}
	w.replaceInstruction(binary.AppendUvarint([]byte{byte(wasm.OpGlobalGet)}, uint64(m.Globals+1+i))...) // behind the balance
}

// addReferences adds the variables.
func (m *module) addReferences() {
	for _, f := range m.referenced {
		m.globals.add(wasm.Funcref, 0)
		m.globals.b = append(binary.AppendUvarint(append(m.globals.b, byte(wasm.OpRefFunc)), uint64(m.shiftIndex(f))), byte(wasm.OpEnd))
	}
}
