package sqltrace

import (
	"path/filepath"
	"testing"
)

// Every connection must wait for the disk and for other processes; the pool opens connections
// at any time.
func TestEveryConnectionIsDurable(t *testing.T) {
	t.Parallel()
	s, err := Open(t.Context(), File(filepath.Join(t.TempDir(), "history.db")))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for range 3 {
		conn, err := s.db.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close() // closed only after the others have been opened
		for pragma, want := range map[string]string{"synchronous": "2", "busy_timeout": lockWait, "journal_mode": "wal"} {
			var got string
			if err := conn.QueryRowContext(t.Context(), "PRAGMA "+pragma).Scan(&got); err != nil || got != want {
				t.Errorf("%s is %s, want %s (%v)", pragma, got, want, err)
			}
		}
	}
}

func TestReaderCannotWrite(t *testing.T) {
	t.Parallel()
	at := File(filepath.Join(t.TempDir(), "history.db"))
	s, err := Open(t.Context(), at)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	r, err := OpenReader(t.Context(), at)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if _, err := r.db.ExecContext(t.Context(), "DELETE FROM wasmjobd_run"); err == nil {
		t.Error("a reader could delete")
	}
}
