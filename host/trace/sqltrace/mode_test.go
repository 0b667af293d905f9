package sqltrace_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/wasmjob/wasmjob/host/trace/sqltrace"
)

// A new history is readable for its owner alone, also in a folder that everybody may read.
func TestFileIsPrivate(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	write(t, open(t, sqltrace.File(filepath.Join(dir, "history.db"))), run("j", 0, 10))
	for _, suffix := range []string{"", "-wal", "-shm"} {
		info, err := os.Stat(filepath.Join(dir, "history.db"+suffix))
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm() != 0o600 {
			t.Errorf("%s is %v", info.Name(), info.Mode())
		}
	}
}
