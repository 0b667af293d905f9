//go:build tinygo && wasip1

package panics

import "unsafe"

// With TinyGo a panic cannot be recovered, and its text goes to stdout, where the host
// does not look for the reason of a failure. The runtime writes it with a function that
// fdWrite replaces: from the line on that begins a panic, it writes to stderr. If a later
// TinyGo no longer calls that function, the text is only in the log, as before.
//
//go:linkname fdWrite runtime.fd_write
func fdWrite(fd uint32, vector *ioVector, n uint, written *uint) uint {
	const begin = "panic: "
	if fd == 1 && vector.n >= uint(len(begin)) && unsafe.String(vector.p, len(begin)) == begin {
		panicking = true
	}
	if panicking {
		fd = 2
	}
	return uint(wasiWrite(fd, unsafe.Pointer(vector), uint32(n), unsafe.Pointer(written)))
}

// panicking stays true until the instance is gone; the text may come in pieces.
var panicking bool

// ioVector is WASI's ciovec.
type ioVector struct {
	p *byte
	n uint
}

//go:wasmimport wasi_snapshot_preview1 fd_write
func wasiWrite(fd uint32, vector unsafe.Pointer, n uint32, written unsafe.Pointer) uint32
