package sqltrace_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/wasmjob/wasmjob/host/trace"
	"github.com/wasmjob/wasmjob/host/trace/sqltrace"
	"github.com/wasmjob/wasmjob/internal/smalldisk"
)

// A full disk refuses only the rows that do not fit. If they are written again once there is
// room, all are stored.
func TestFullDisk_is_written_again_once_there_is_room(t *testing.T) {
	t.Parallel()
	dir := smalldisk.Dir(t, "1m")
	s := open(t, sqltrace.File(filepath.Join(dir, "history.db")))
	fill := filepath.Join(dir, "fill")
	instant, kept := int64(0), 0
	next := func() trace.Row {
		instant++
		r := run("a", 0, instant)
		r.Result = strings.Repeat("r", 9_000)
		return r
	}
	for range 3 {
		if err := os.WriteFile(fill, make([]byte, 1<<20), 0o600); !errors.Is(err, syscall.ENOSPC) {
			t.Fatalf("the disk is not full: %v", err)
		}
		failed := 0
		for range 30 {
			if err := s.Write(t.Context(), []trace.Row{next()}); err != nil {
				failed++
			} else {
				kept++
			}
		}
		if failed == 0 {
			t.Error("nothing failed")
		}
		if err := os.Remove(fill); err != nil {
			t.Fatal(err)
		}
		write(t, s, next())
		kept++
	}
	if got := len(all(t, s.Reader, sqltrace.Filter{})); got != kept {
		t.Errorf("%d rows, %d were taken", got, kept)
	}
}
