//go:build unix

package embedded

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// giveToOwner gives a file to the owner of its directory if this process is root. Otherwise a
// command that root runs while the server is down would leave files that the server cannot read.
// In a container, root may have no right to do so; then the file stays root's.
func giveToOwner(name string) error {
	if os.Geteuid() != 0 {
		return nil
	}
	info, err := os.Stat(filepath.Dir(name))
	if err != nil {
		return err
	}
	of, ok := info.Sys().(*syscall.Stat_t)
	if !ok || of.Uid == 0 {
		return nil
	}
	// The owner may have put a link there; what it refers to stays as it is.
	if err := os.Lchown(name, int(of.Uid), int(of.Gid)); err != nil && !errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("give it to the owner of its directory: %w", err)
	}
	return nil
}
