package meter

import (
	"encoding/binary"

	"github.com/wasmjob/wasmjob/host/internal/wasm"
)

// maxReferences is the maximum number of functions that code refers to. Each needs a
// global.
const maxReferences = 1_000

// reference replaces ref.func by reading an added global with the reference. The
// engine would allocate a reference each time and keep it until the instance ends,
// which the memory limit does not count.
func (w *walk) reference() {
	m, f := w.m, w.A
	if !m.declared[f] {
		w.Fail(wasm.Damaged, "a reference to function %d, which is not declared", f)
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
	w.replaceInstruction(binary.AppendUvarint([]byte{byte(wasm.OpGlobalGet)}, uint64(m.Globals+1+i))...) // 1 is the global of the balance
}

// addReferences adds the globals with references to functions, in the order of
// m.referenced, after that of the balance.
func (m *module) addReferences() {
	for _, f := range m.referenced {
		m.globals.add(wasm.Funcref, 0)
		m.globals.b = append(binary.AppendUvarint(append(m.globals.b, byte(wasm.OpRefFunc)), uint64(m.shiftIndex(f))), byte(wasm.OpEnd))
	}
}
