package module

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/wasmjob/wasmjob/internal/smalldisk"
)

// A full disk leaves no partial module behind, and the module can be stored once
// there is space.
func TestFullDisk_stores_the_module_later(t *testing.T) {
	t.Parallel()
	dir := smalldisk.Dir(t, "1m")
	s, err := Open(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	fill, binary := filepath.Join(dir, "fill"), bytes.Repeat([]byte("m"), 600_000)
	if err := os.WriteFile(fill, make([]byte, 700_000), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Put(bytes.NewReader(binary), nil, 1<<20); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("got %v", err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("directory has %v besides the filler, %v", entries, err)
	}
	if err := os.Remove(fill); err != nil {
		t.Fatal(err)
	}
	digest, err := s.Put(bytes.NewReader(binary), nil, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := s.Get(digest); err != nil || !bytes.Equal(got, binary) {
		t.Errorf("got %d bytes back, %v", len(got), err)
	}
}
