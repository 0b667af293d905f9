//go:build unix

package sandbox

import (
	"io/fs"
	"os"
	"syscall"
)

// ownedByOther reports whether a file belongs to another user, who could change it
// whatever its mode. Root's files are accepted, because root can change all files.
func ownedByOther(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && stat.Uid != 0 && int(stat.Uid) != os.Geteuid()
}
