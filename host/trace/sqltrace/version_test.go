package sqltrace_test

import (
	"database/sql"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wasmjob/wasmjob/host/trace"
	"github.com/wasmjob/wasmjob/host/trace/sqltrace"
)

// Servers of two releases share a cluster while it is brought up to date, and what
// one ran is checked with the program of the other.
func TestReaderOfTheReleaseBefore(t *testing.T) {
	t.Parallel()
	loc := locate(t)
	s := open(t, loc)
	old := run("j", 0, 10)
	write(t, s, old)
	db, err := sql.Open("sqlite", loc.File)
	if err == nil {
		_, err = db.ExecContext(t.Context(), "ALTER TABLE wasmjobd_run DROP COLUMN schedule")
	}
	if err = errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	r := openReader(t, loc)
	if diff := cmp.Diff([]trace.Row{old}, all(t, r, sqltrace.Filter{})); diff != "" {
		t.Error(diff)
	}
	for row, err := range r.Rows(t.Context(), "j", 0, 20) {
		if err != nil || row.Instant != 10 {
			t.Errorf("%+v, %v", row, err)
		}
	}
}
