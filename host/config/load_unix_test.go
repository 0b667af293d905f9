//go:build unix

package config

import (
	"path/filepath"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAPipeAmongTheIncludedFilesIsNotOpened(t *testing.T) {
	t.Parallel()
	dir := write(t, map[string]string{"main.toml": "include = ['', '*.d']\n"})
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe.d"), 0o600); err != nil {
		t.Skip("cannot make a pipe:", err)
	}
	want := []string{
		"main.toml:1:12: include[0]: the path is empty (remove it)",
		"pipe.d: cannot be read: it is not a regular file (move it away)",
	}
	if d := cmp.Diff(want, loadFaults(t, dir, "main.toml")); d != "" {
		t.Error(d)
	}
}
