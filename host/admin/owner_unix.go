//go:build unix

package admin

import (
	"io/fs"
	"syscall"
)

// owner returns the user who owns a file.
func owner(info fs.FileInfo) (uid int, ok bool) {
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, false
	}
	return int(s.Uid), true
}
