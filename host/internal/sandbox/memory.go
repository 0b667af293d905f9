package sandbox

import "github.com/tetratelabs/wazero/experimental"

const defaultMemory = 64 << 20

// linearMemory is the memory of one instance: it grows in place up to its
// limit and is given back when the run ends. It lies outside the Go heap where
// the system allows, so that guests do not drive the garbage collector.
//
// The engine asks for one per instance and may or may not free it on its error
// paths; release is therefore called by the run as well and is idempotent.
type linearMemory struct {
	limit uint64
	arena []byte // reserved; its length is the limit, rounded up to pages
	held  bool   // arena came from reserve
	peak  uint64
	full  bool // a growth was refused
}

// Allocate implements experimental.MemoryAllocator.
func (m *linearMemory) Allocate(_, most uint64) experimental.LinearMemory {
	m.limit = min(m.limit, most)
	return m
}

// Reallocate implements experimental.LinearMemory; nil refuses.
func (m *linearMemory) Reallocate(size uint64) []byte {
	if size > m.limit {
		m.full = true
		return nil
	}
	if m.arena == nil {
		arena, err := reserve(max(m.limit, pageSize))
		if err != nil {
			m.full = true
			return nil
		}
		m.arena, m.held = arena, true
	}
	m.peak = max(m.peak, size)
	return m.arena[:size:size]
}

// Free implements experimental.LinearMemory.
func (m *linearMemory) Free() { m.release() }

func (m *linearMemory) release() {
	if m.held {
		m.held = false
		giveBack(m.arena)
		m.arena = nil
	}
}
