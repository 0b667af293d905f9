//go:build !unix

package sandbox

// reserve allocates from the Go heap; the system provides it page by page.
func reserve(size uint64) ([]byte, error) { return make([]byte, size), nil }

func unmap([]byte) {}

func discardPages(b []byte) { clear(b) }
