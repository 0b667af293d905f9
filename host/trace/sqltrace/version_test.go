package sqltrace_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wasmjob/wasmjob/host/reason"
	"github.com/wasmjob/wasmjob/host/trace"
	"github.com/wasmjob/wasmjob/host/trace/sqltrace"
)

// Servers of two releases share a cluster during an upgrade, and the program of one checks the
// runs of the other.
func TestReaderOfTheReleaseBefore(t *testing.T) {
	everywhere(t, func(t *testing.T, loc sqltrace.Location) {
		s := open(t, loc)
		old := run("j", 0, 10)
		old.Reason = reason.Of(reason.ShuttingDown)
		write(t, s, old)
		db, err := loc.DB()
		for _, column := range []string{"schedule", "reason_code", "guest_log", "param"} {
			if err == nil {
				_, err = db.ExecContext(t.Context(), "ALTER TABLE wasmjobd_run DROP COLUMN "+column)
			}
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
	})
}

// A program of the previous release writes into the same table as a present one: its words are
// read as their code, and words without a code stay as they are.
func TestWordsOfTheReleaseBefore(t *testing.T) {
	everywhere(t, func(t *testing.T, loc sqltrace.Location) {
		s := open(t, loc)
		db, err := loc.DB()
		if err != nil {
			t.Fatal(err)
		}
		const before = "INSERT INTO wasmjobd_run (job, item, run, attempt, instant_ms, last_ms, instants, cause, state, reason, " +
			"instance, task_id, start_ms, end_ms, result, error, digest, fence) VALUES ('j', %d, 'r', 1, 5, 0, 0, 'schedule', 'cancelled', '%s', '', '', 0, 0, '', '', '', 0)"
		for item, words := range []string{"the server was shutting down", "it failed: no such table"} {
			if _, err := db.ExecContext(t.Context(), fmt.Sprintf(before, item, words)); err != nil {
				t.Fatal(err)
			}
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		rows := all(t, s.Reader, sqltrace.Filter{})
		got := []reason.Reason{rows[1].Reason, rows[0].Reason}
		if diff := cmp.Diff([]reason.Reason{reason.Of(reason.ShuttingDown), reason.Text("it failed: no such table")}, got); diff != "" {
			t.Error(diff)
		}
	})
}
