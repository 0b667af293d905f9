package sandbox

import "github.com/tetratelabs/wazero/experimental"

// linearMemory is the memory of one instance. It grows in place up to its limit and
// is unmapped when the instance is destroyed. If the system allows, it is outside
// the Go heap, so that guests do not cause garbage collections.
//
// It is reserved before the engine asks for it, because the engine cannot handle a
// failure. The engine may or may not free it on its error paths; therefore the
// instance calls release as well, and release is idempotent.
type linearMemory struct {
	limit        uint64
	arena        []byte // reserved
	reserved     bool   // arena is mapped
	peak         uint64
	limitReached bool // the limit refused a growth

	claimed   uint64                 // bytes held of the budget
	claimMore func(more uint64) bool // claims more of the budget; nil: no budget
}

// open reserves the memory that the limit allows and the module can request.
func (m *linearMemory) open(moduleMax uint64) error {
	arena, err := reserve(max(min(m.limit, moduleMax), pageSize))
	if err != nil {
		return err
	}
	m.arena, m.reserved = arena, true
	return nil
}

func (m *linearMemory) Allocate(_, _ uint64) experimental.LinearMemory { return m }

// Reallocate implements experimental.LinearMemory. It returns nil to refuse.
func (m *linearMemory) Reallocate(size uint64) []byte {
	if size > m.limit || size > uint64(len(m.arena)) {
		m.limitReached = true
		return nil
	}
	if m.claimMore != nil && size > m.claimed {
		if !m.claimMore(size - m.claimed) {
			return nil
		}
		m.claimed = size
	}
	m.peak = max(m.peak, size)
	return m.arena[:size:size]
}

func (m *linearMemory) Free() { m.release() }

// release returns the arena to the system, once. The engine calls it when it closes an
// instance. The sandbox calls it again, because an engine that has never used the memory
// does not.
func (m *linearMemory) release() {
	if m.reserved {
		m.reserved = false
		unmap(m.arena)
		m.arena = nil
	}
}
