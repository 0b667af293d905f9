//go:build unix

package sandbox

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// reserve maps address space. Pages cost memory when they are first touched.
func reserve(size uint64) ([]byte, error) {
	b, err := unix.Mmap(-1, 0, int(size), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE|mapNoReserve)
	if err != nil {
		return nil, fmt.Errorf("map %d bytes: %w", size, err)
	}
	smallPages(b)
	return b, nil
}

// discardPages frees the memory of a range and keeps its addresses.
func discardPages(b []byte) {
	// Fails only for a range that is not mapped.
	_ = unix.Madvise(b, unix.MADV_DONTNEED)
}

func unmap(b []byte) {
	// Fails only for a range that is not mapped.
	_ = unix.Munmap(b)
}
