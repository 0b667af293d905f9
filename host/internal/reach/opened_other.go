//go:build !linux

package reach

import (
	"io/fs"
	"os"
)

// opened returns a directory and all directories above it by its path, the nearest first.
func opened(root *os.Root) ([]fs.FileInfo, error) {
	info, err := root.Stat(".")
	if err != nil {
		return nil, err
	}
	return append([]fs.FileInfo{info}, parents(root.Name())...), nil
}
