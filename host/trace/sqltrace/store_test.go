package sqltrace_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wasmjob/wasmjob/host/reason"
	"github.com/wasmjob/wasmjob/host/trace"
	"github.com/wasmjob/wasmjob/host/trace/sqltrace"
)

func locate(t testing.TB) sqltrace.Location {
	t.Helper()
	return sqltrace.File(filepath.Join(t.TempDir(), "history.db"))
}

func open(t *testing.T, loc sqltrace.Location) *sqltrace.Store {
	t.Helper()
	s, err := sqltrace.Open(t.Context(), loc)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func openReader(t *testing.T, loc sqltrace.Location) *sqltrace.Reader {
	t.Helper()
	r, err := sqltrace.OpenReader(t.Context(), loc)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

func run(job string, item int, instant int64) trace.Row {
	return trace.Row{Job: job, Item: item, Run: fmt.Sprint(instant), Attempt: 1, Instant: instant,
		Cause: trace.Schedule, State: trace.Succeeded, Instance: "10.0.0.1@-@7", Start: instant + 1, End: instant + 2}
}

func gap(job string, item int, first, last, count int64) trace.Row {
	return trace.Row{Job: job, Item: item, Run: fmt.Sprintf("gap-%d", first), Instant: first, Last: last, Count: count,
		Cause: trace.Schedule, State: trace.Missed, Reason: reason.Of(reason.NotBegun)}
}

func write(t *testing.T, s *sqltrace.Store, rows ...trace.Row) {
	t.Helper()
	if err := s.Write(t.Context(), rows); err != nil {
		t.Fatal(err)
	}
}

// all returns every row, through pages of a few.
func all(t *testing.T, r *sqltrace.Reader, f sqltrace.Filter) []trace.Row {
	t.Helper()
	var rows []trace.Row
	for {
		page, err := r.Query(t.Context(), f)
		if err != nil {
			t.Fatal(err)
		}
		rows = append(rows, page.Rows...)
		if page.Next == "" {
			return rows
		}
		f.Cursor = page.Next
	}
}

func TestWriteKeepsEveryField(t *testing.T) {
	everywhere(t, func(t *testing.T, loc sqltrace.Location) {
		s := open(t, loc)
		want := trace.Row{Job: "täglich", Item: 3, Run: "run-1", Attempt: 2, Instant: 5, Last: 6, Count: 0,
			Cause: trace.Trigger, State: trace.Failed, Reason: reason.Text("r"), Instance: "i", TaskID: "task", Start: 7, End: 8,
			Result: "any \x00\xff bytes", Error: "e", Digest: "d", Fence: 1 << 60,
			Fuel: 1 << 50, Succeeded: 3, Failed: 2, Metrics: `{"rows":2.5}`, Code: 130, HasCode: true}
		write(t, s, want)
		if diff := cmp.Diff([]trace.Row{want}, all(t, s.Reader, sqltrace.Filter{})); diff != "" {
			t.Error(diff)
		}
	})
}

func TestWriteKeepsTheFirst(t *testing.T) {
	everywhere(t, func(t *testing.T, loc sqltrace.Location) {
		s := open(t, loc)
		first := run("j", 0, 10)
		other := first
		other.State, other.Error = trace.Failed, "came later"
		third := run("j", 0, 20)
		write(t, s, first)
		write(t, s, other, third, third)
		write(t, s, first, other, third)
		if diff := cmp.Diff([]trace.Row{third, first}, all(t, s.Reader, sqltrace.Filter{})); diff != "" {
			t.Error(diff)
		}
	})
}

func TestWriteBoundsTexts(t *testing.T) {
	everywhere(t, func(t *testing.T, loc sqltrace.Location) {
		s := open(t, loc)
		r := run("j", 0, 10)
		r.Result = strings.Repeat("ä", 100_000)
		r.Error = strings.Repeat("x\xff\x00", 10_000)
		r.Reason = reason.Text(strings.Repeat("z", sqltrace.MaxText))
		write(t, s, r)
		got := all(t, s.Reader, sqltrace.Filter{})[0]
		if n := len(got.Result); n > sqltrace.MaxResult || n < sqltrace.MaxResult-4 || !strings.HasSuffix(got.Result, "ä… [cut from 200000 bytes]") {
			t.Errorf("result has %d bytes and ends in %q", n, got.Result[n-40:])
		}
		if n := len(got.Error); n > sqltrace.MaxError || !strings.HasPrefix(got.Error, "x\uFFFD x\uFFFD x") || !strings.HasSuffix(got.Error, " bytes]") {
			t.Errorf("error has %d bytes: %.20q", n, got.Error)
		}
		if got.Reason != r.Reason {
			t.Error("a reason of the full length was cut")
		}
	})
}

func TestWriteRefusesWhatIsNoRow(t *testing.T) {
	everywhere(t, func(t *testing.T, loc sqltrace.Location) {
		s := open(t, loc)
		for name, spoil := range map[string]func(*trace.Row){
			"running":        func(r *trace.Row) { r.State = trace.Running },
			"no state":       func(r *trace.Row) { r.State = "" },
			"no job":         func(r *trace.Row) { r.Job = "" },
			"no run":         func(r *trace.Row) { r.Run = "" },
			"long run":       func(r *trace.Row) { r.Run = strings.Repeat("r", sqltrace.MaxName+1) },
			"run is no text": func(r *trace.Row) { r.Run = "\xff" },
			"negative item":  func(r *trace.Row) { r.Item = -1 },
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				bad := run("j", 1, 10)
				spoil(&bad)
				if err := s.Write(t.Context(), []trace.Row{run("j", 0, 10), bad}); !errors.Is(err, trace.ErrRow) {
					t.Errorf("got %v, want ErrRow", err)
				}
				if rows := all(t, s.Reader, sqltrace.Filter{}); len(rows) > 0 {
					t.Errorf("%d rows of the batch are there", len(rows))
				}
			})
		}
	})
}

func TestWriteEndsWithItsContext(t *testing.T) {
	everywhere(t, func(t *testing.T, loc sqltrace.Location) {
		s := open(t, loc)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := s.Write(ctx, []trace.Row{run("j", 0, 10)}); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
		write(t, s, run("j", 0, 20)) // the token was returned
	})
}

// Several databases on one file stand for several processes.
func TestConcurrentWriters(t *testing.T) {
	everywhere(t, func(t *testing.T, loc sqltrace.Location) {
		const writers, batches, size = 4, 10, 50
		var wg sync.WaitGroup
		errs := make(chan error, writers) // one from each goroutine
		for w := range writers {
			wg.Go(func() {
				s, err := sqltrace.Open(t.Context(), loc) // all create the tables at once
				for b := 0; b < batches && err == nil; b++ {
					var rows []trace.Row
					for i := range size {
						// The first half of the rows belongs to this writer, the rest to all
						// writers.
						job := fmt.Sprintf("own-%d", w)
						if i >= size/2 {
							job = "all"
						}
						rows = append(rows, run(job, i, int64(b)))
					}
					err = s.Write(t.Context(), rows)
				}
				if err == nil {
					_, err = s.Query(t.Context(), sqltrace.Filter{Job: "all"})
					err = errors.Join(err, s.Close())
				}
				errs <- err
			})
		}
		wg.Wait()
		close(errs)
		for err := range errs {
			if err != nil {
				t.Fatal(err)
			}
		}
		s := open(t, loc)
		if n := len(all(t, s.Reader, sqltrace.Filter{})); n != (writers+1)*batches*size/2 {
			t.Errorf("%d rows, want %d", n, (writers+1)*batches*size/2)
		}
	})
}

func TestReaderSeesWhatIsWrittenMeanwhile(t *testing.T) {
	everywhere(t, func(t *testing.T, loc sqltrace.Location) {
		s := open(t, loc)
		r := openReader(t, loc)
		for i := range int64(3) {
			write(t, s, run("j", 0, i))
			if n := len(all(t, r, sqltrace.Filter{})); n != int(i)+1 {
				t.Errorf("%d rows after %d writes", n, i+1)
			}
		}
	})
}

// A history of the previous release keeps its rows, and gets room for new columns.
func TestOpenUpdatesOlderTables(t *testing.T) {
	everywhere(t, func(t *testing.T, loc sqltrace.Location) {
		s := open(t, loc)
		old := run("j", 0, 10)
		old.Reason = reason.Of(reason.ShuttingDown)
		write(t, s, old)
		db, err := loc.DB()
		if err != nil {
			t.Fatal(err)
		}
		for _, column := range []string{"fuel", "succeeded", "failed", "metrics", "code", "schedule", "reason_code", "param"} {
			if _, err := db.ExecContext(t.Context(), "ALTER TABLE wasmjobd_run DROP COLUMN "+column); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := db.ExecContext(t.Context(), "DELETE FROM wasmjobd_schema WHERE version > 1"); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(db.Close(), s.Close()); err != nil {
			t.Fatal(err)
		}
		s = open(t, loc)
		fresh := run("j", 0, 20)
		fresh.Metrics, fresh.HasCode, fresh.Schedule, fresh.Param = `{"rows":1}`, true, "0 0 * * * ?", "a 'day' of\nwork"
		fresh.Reason = reason.Of(reason.StrategyFailedKept, "out of fuel")
		write(t, s, fresh)
		if diff := cmp.Diff([]trace.Row{fresh, old}, all(t, s.Reader, sqltrace.Filter{})); diff != "" {
			t.Error(diff)
		}
	})
}

func TestOpenRefusesNewerTables(t *testing.T) {
	everywhere(t, func(t *testing.T, loc sqltrace.Location) {
		open(t, loc)
		db, err := loc.DB()
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		if _, err := db.ExecContext(t.Context(), "INSERT INTO wasmjobd_schema VALUES (99, 0)"); err != nil {
			t.Fatal(err)
		}
		_, err = sqltrace.Open(t.Context(), loc)
		if !errors.Is(err, sqltrace.ErrVersion) || !strings.Contains(err.Error(), loc.String()) {
			t.Errorf("Open: %v", err)
		}
		if _, err := sqltrace.OpenReader(t.Context(), loc); !errors.Is(err, sqltrace.ErrVersion) {
			t.Errorf("OpenReader: %v", err)
		}
	})
}

func TestOpenRefusesWhereItCannotWrite(t *testing.T) {
	t.Parallel()
	loc := sqltrace.File(filepath.Join(t.TempDir(), "no", "such", "folder", "history.db"))
	if _, err := sqltrace.Open(t.Context(), loc); err == nil || !strings.Contains(err.Error(), loc.String()) || !strings.Contains(err.Error(), "writable") {
		t.Errorf("no such folder: %v", err)
	}
	if _, err := sqltrace.Open(t.Context(), sqltrace.Location{}); err == nil {
		t.Error("a location without a file: no error")
	}
	folder := sqltrace.File(t.TempDir())
	if _, err := sqltrace.Open(t.Context(), folder); err == nil || !strings.Contains(err.Error(), "is a directory") {
		t.Errorf("a folder: %v", err)
	}
	empty := locate(t)
	if err := os.WriteFile(empty.String(), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := sqltrace.OpenReader(t.Context(), empty); !errors.Is(err, sqltrace.ErrVersion) || !strings.Contains(err.Error(), "serve creates them") {
		t.Errorf("reader of an empty file: %v", err)
	}
	absent := locate(t)
	if _, err := sqltrace.OpenReader(t.Context(), absent); err == nil {
		t.Error("reader of nothing: no error")
	}
	if _, err := os.Stat(absent.String()); err == nil {
		t.Error("a reader has made the file")
	}
}

func TestDamageIsNamed(t *testing.T) {
	t.Parallel()
	t.Run("no database at all", func(t *testing.T) {
		t.Parallel()
		loc := locate(t)
		if err := os.WriteFile(loc.String(), bytes.Repeat([]byte("not a database "), 1000), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := sqltrace.Open(t.Context(), loc)
		if !errors.Is(err, sqltrace.ErrDamaged) || !strings.Contains(err.Error(), loc.String()) {
			t.Errorf("Open: %v", err)
		}
		_, err = sqltrace.OpenReader(t.Context(), loc)
		if !errors.Is(err, sqltrace.ErrDamaged) || !strings.Contains(err.Error(), loc.String()) {
			t.Errorf("OpenReader: %v", err)
		}
	})
	t.Run("broken in the middle", func(t *testing.T) {
		t.Parallel()
		loc := locate(t)
		fill(t, loc, 3000)
		data, err := os.ReadFile(loc.String())
		if err != nil {
			t.Fatal(err)
		}
		for i := 8 * 4096; i < len(data); i++ {
			data[i] = 0xa5
		}
		if err := os.WriteFile(loc.String(), data, 0o600); err != nil {
			t.Fatal(err)
		}
		r := openReader(t, loc)
		for _, rowErr := range r.Rows(t.Context(), "j", 0, 1<<40) {
			err = errors.Join(err, rowErr)
		}
		if !errors.Is(err, sqltrace.ErrDamaged) || !strings.Contains(err.Error(), loc.String()) {
			t.Errorf("got %v", err)
		}
	})
}

// fill writes rows and closes the database, so that its single file has all of them.
func fill(t *testing.T, loc sqltrace.Location, n int64) {
	t.Helper()
	s, err := sqltrace.Open(t.Context(), loc)
	if err != nil {
		t.Fatal(err)
	}
	var rows []trace.Row
	for i := range n {
		rows = append(rows, run("j", 0, i*10))
	}
	write(t, s, rows...)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestOddFileNames(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "a b%20c&d=e+ü")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	loc := sqltrace.File(filepath.Join(dir, "x%y z?w#.db"))
	write(t, open(t, loc), run("j", 0, 1))
	if _, err := os.Stat(loc.String()); err != nil {
		t.Error(err)
	}
}
