package lockfile

import (
	"errors"
	"path/filepath"
	"testing"
)

// Only one process can hold a lock. Closing the file releases it.
func TestOneHasTheLock(t *testing.T) {
	t.Parallel()
	if !Supported {
		t.Skip("left out: files cannot be locked here")
	}
	name := filepath.Join(t.TempDir(), "lock")
	for range 2 {
		f, err := Take(name)
		if err != nil {
			t.Fatal(err)
		}
		if second, err := Take(name); !errors.Is(err, ErrTaken) {
			t.Errorf("a second one: %v, %v", second, err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
