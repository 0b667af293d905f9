package embedded

import (
	"errors"
	"os"
	"syscall"
)

// syncData writes the content and the length of f to the disk.
func syncData(f *os.File) error {
	for {
		err := syscall.Fdatasync(int(f.Fd()))
		if !errors.Is(err, syscall.EINTR) {
			return os.NewSyscallError("fdatasync", err)
		}
	}
}
