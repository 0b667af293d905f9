//go:build unix

package sandbox

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// reserve maps address space; pages cost memory when they are first touched.
func reserve(size uint64) ([]byte, error) {
	b, err := unix.Mmap(-1, 0, int(size), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE|mapNoReserve)
	if err != nil {
		return nil, fmt.Errorf("map %d bytes: %w", size, err)
	}
	smallPages(b)
	return b, nil
}

// discardPages gives the memory of a range back, and keeps its addresses.
func discardPages(b []byte) {
	// It can only fail for a range that is not mapped.
	_ = unix.Madvise(b, unix.MADV_DONTNEED)
}

func unmap(b []byte) {
	// It can only fail for a range that was not mapped; then there is nothing
	// to give back.
	_ = unix.Munmap(b)
}
