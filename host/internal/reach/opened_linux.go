package reach

import (
	"fmt"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// opened returns a directory and all directories above it, the nearest first. It starts
// from the open directory, because its path may lead elsewhere by now.
func opened(root *os.Root) ([]fs.FileInfo, error) {
	at, err := root.Open(".")
	if err != nil {
		return nil, err
	}
	var all []fs.FileInfo
	for {
		info, err := at.Stat()
		if err != nil || len(all) > 0 && os.SameFile(info, all[len(all)-1]) {
			_ = at.Close()
			return all, err
		}
		all = append(all, info)
		above, err := unix.Openat(int(at.Fd()), "..", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		_ = at.Close()
		if err != nil {
			return nil, fmt.Errorf("open the directory above: %w", err)
		}
		at = os.NewFile(uintptr(above), "..")
	}
}
