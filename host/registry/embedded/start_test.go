package embedded

import (
	"errors"
	"syscall"
	"testing"
)

func noSpace(s step) error {
	if s.kind == stepWrite {
		return syscall.ENOSPC
	}
	return nil
}

// A start that finds no space leaves what the next start needs, however often it is tried.
func TestStartOnFullDisk_damages_nothing(t *testing.T) {
	t.Parallel()
	for written := range logHeader + 1 {
		d := newMemDisk()
		r, err := open(d, Options{})
		if err != nil {
			t.Fatal(err)
		}
		mustCommit(t, openSession(t, r), write("/kept"))
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			for _, killed := range []bool{false, true} {
				d.inject(func(s step) (int, error) {
					if s.kind == stepRemove && killed {
						return 0, syscall.EIO // not reached
					}
					return min(written, len(s.data)), noSpace(s)
				})
				if _, err := open(d, Options{}); !errors.Is(err, syscall.ENOSPC) {
					t.Fatalf("%d bytes of the header: %v", written, err)
				}
			}
		}
		if names := d.names(); written < logHeader && len(names) > 5 { // up to three files of killed starts
			t.Errorf("each start leaves a file: %v", names)
		}
		d.inject(nil)
		again, err := open(d, Options{})
		if err != nil {
			t.Fatalf("%d bytes of the header: %v", written, err)
		}
		if !mustRead(t, openSession(t, again), "/kept").Exists {
			t.Error("what was acknowledged is lost")
		}
		if err := again.Close(); err != nil {
			t.Error(err)
		}
	}
}
