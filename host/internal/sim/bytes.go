package sim

import (
	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/registry"
)

// light checks that a transaction is not larger than the registry allows, except one that
// ends a single run.
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
