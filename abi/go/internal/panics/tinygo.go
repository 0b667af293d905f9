//go:build tinygo && wasip1

package panics

import "unsafe"

// With TinyGo a panic cannot be recovered, and its text goes to stdout, where a
// host looks for everything but the reason of a failure. The runtime writes it
// with a function of its own, which fdWrite replaces: from the line that begins
// a panic on, it writes to stderr. Should a later TinyGo not call it any more,
// the text is in the log as before.
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

// panicking lasts until the instance is gone; the text may come in pieces.
var panicking bool

// ioVector is WASI's ciovec.
type ioVector struct {
	p *byte
	n uint
}

//go:wasmimport wasi_snapshot_preview1 fd_write
func wasiWrite(fd uint32, vector unsafe.Pointer, n uint32, written unsafe.Pointer) uint32
