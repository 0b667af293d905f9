package sim

import (
	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/registry"
)

// light checks that a begin, a take or a completion writes no more bytes than MaxBytes.
// A completion of a single run cannot be divided, so it may be larger.
func (l *ledger) light(ops []registry.Op, by origin) {
	most := l.w.options.MaxBytes
	if by.member == nil || most == 0 {
		return
	}
	switch m := by.m.(type) {
	case protocol.Begin, protocol.Take:
	case protocol.Complete:
		if len(m.Items) == 1 {
			return
		}
	default:
		return
	}
	n := 0
	for _, op := range ops {
		n += len(op.Data)
	}
	if n > most {
		l.w.breach("size", "%s has values of %d bytes at once", by, n)
	}
}
