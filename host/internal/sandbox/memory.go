package sandbox

import "github.com/tetratelabs/wazero/experimental"

// linearMemory is the memory of one instance: it grows in place up to its
// limit and is given back when the run ends. It lies outside the Go heap where
// the system allows, so that guests do not drive the garbage collector.
//
// It is reserved before the engine asks, as the engine cannot be told that
// there is none. The engine may or may not free it on its error paths; release
// is therefore called by the run as well and is idempotent.
type linearMemory struct {
	limit        uint64
	arena        []byte // reserved
	reserved     bool   // arena came from reserve
	peak         uint64
	limitReached bool // a growth was refused by the limit

	claimed   uint64                 // bytes that the host has set aside
	claimMore func(more uint64) bool // sets aside more; nil: nobody counts
}

// open reserves the memory: what the limit allows and the module may ask for.
func (m *linearMemory) open(most uint64) error {
	arena, err := reserve(max(min(m.limit, most), pageSize))
	if err != nil {
		return err
	}
	m.arena, m.reserved = arena, true
	return nil
}

// Allocate implements experimental.MemoryAllocator.
func (m *linearMemory) Allocate(_, _ uint64) experimental.LinearMemory { return m }

// Reallocate implements experimental.LinearMemory; nil refuses.
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

// Free implements experimental.LinearMemory.
func (m *linearMemory) Free() { m.release() }

func (m *linearMemory) release() {
	if m.reserved {
		m.reserved = false
		unmap(m.arena)
		m.arena = nil
	}
}
