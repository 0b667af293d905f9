//go:build unix

package sandbox

import (
	"io/fs"
	"os"
	"syscall"
)

// ownedByOther says whether a file belongs to another user, who may change it
// whatever its mode says. Root may do so with all files.
func ownedByOther(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && stat.Uid != 0 && int(stat.Uid) != os.Geteuid()
}
