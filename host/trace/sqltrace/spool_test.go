package sqltrace_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wasmjob/wasmjob/host/reason"
	"github.com/wasmjob/wasmjob/host/trace"
	"github.com/wasmjob/wasmjob/host/trace/sqltrace"
	"github.com/wasmjob/wasmjob/host/trace/sqltrace/sqltest"
)

// lines receives the lines of a log.
type lines chan string

func (l lines) Write(text []byte) (int, error) {
	l <- string(text)
	return len(text), nil
}

// await receives lines until one contains a text.
func (l lines) await(t *testing.T, text string) {
	t.Helper()
	for {
		select {
		case line := <-l:
			if strings.Contains(line, text) {
				return
			}
		case <-t.Context().Done():
			t.Fatalf("nobody logs %q", text)
		}
	}
}

// spool returns a Spool for a store, with its log. stop ends it, like the end of its process.
func spool(t *testing.T, to *sqltrace.Store, file sqltrace.Location) (s *sqltrace.Spool, log lines, stop func()) {
	t.Helper()
	log = make(lines, 100)
	s, err := sqltrace.OpenSpool(t.Context(), to, file, slog.New(slog.NewTextHandler(log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		s.Deliver(ctx)
	}()
	return s, log, func() {
		cancel()
		<-ended
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// When a killed database comes back, it has every row in the end, each as it would have been
// without the crash.
func TestRowsWaitWhileTheDatabaseIsAway(t *testing.T) {
	t.Parallel()
	for name, shared := range map[string]func(testing.TB) *sqltest.Server{"PostgreSQL": sqltest.Postgres, "MariaDB": sqltest.MariaDB} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := shared(t).Start(t)
			to, file := open(t, address(t, server.Database(t))), locate(t)
			s, log, stop := spool(t, to, file)
			put := func(rows ...trace.Row) {
				t.Helper()
				if err := s.Write(t.Context(), rows); err != nil {
					t.Fatal(err)
				}
			}
			taken := func(instant int64) trace.Row {
				r := run("taken", 0, instant)
				r.State, r.Reason, r.Error = trace.TakenOver, reason.Of(reason.RegistryLost), "asked to stop"
				return r
			}
			become := func(r trace.Row) trace.Row {
				r.State, r.Reason = trace.Interrupted, reason.Of(reason.ServerGoneNextInstant)
				return r
			}
			var want []trace.Row
			put(taken(1))
			server.Kill()
			for i := range int64(350) {
				r := run("j", 0, 10+i)
				r.Log, r.HasLog, r.Result = "a line", true, "\xff"
				want = append(want, r)
				put(r)
			}
			put(become(taken(1)), taken(2))
			if err := s.Write(t.Context(), []trace.Row{{}}); !errors.Is(err, trace.ErrRow) {
				t.Errorf("a row that is none: %v", err)
			}
			log.await(t, "wait in a file")
			stop() // the next process continues
			s, log, stop = spool(t, to, file)
			defer stop()
			put(become(taken(2)))
			log.await(t, "rows of the history wait")
			server.Restart(t)
			log.await(t, "the history has the rows that waited")
			put(run("j", 0, 1000))
			want = append(want, become(taken(1)), become(taken(2)), run("j", 0, 1000))
			slices.SortFunc(want, newest)
			if diff := cmp.Diff(want, all(t, to.Reader, sqltrace.Filter{Logs: true, Limit: 1000})); diff != "" {
				t.Error(diff)
			}
			if rows := all(t, openReader(t, file), sqltrace.Filter{}); len(rows) > 0 {
				t.Errorf("%d rows are in the file still", len(rows))
			}
		})
	}
}

// A row that the database refuses holds up no other row. A database that fails for another reason
// loses none.
func TestRowThatTheDatabaseRefuses(t *testing.T) {
	t.Parallel()
	for name, server := range map[string]func(testing.TB) *sqltest.Server{"PostgreSQL": sqltest.Postgres, "MariaDB": sqltest.MariaDB} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			loc := address(t, server(t).Database(t))
			to := open(t, loc)
			s, log, stop := spool(t, to, locate(t))
			defer stop()
			execute(t, loc, "ALTER TABLE wasmjobd_run RENAME TO away")
			var want []trace.Row
			for i := range int64(200) { // the first 100, which are delivered at once, are all refused
				r := run("j", 0, 10+i)
				if r.Error = "ok"; i%3 == 0 || i < 100 {
					r.Error = "bad"
				} else {
					want = append(want, r)
				}
				if err := s.Write(t.Context(), []trace.Row{r}); err != nil {
					t.Fatal(err)
				}
			}
			log.await(t, "rows of the history wait in a file")
			execute(t, loc, "ALTER TABLE away ADD CONSTRAINT bound CHECK (error <> 'bad')", "ALTER TABLE away RENAME TO wasmjobd_run")
			log.await(t, "the history refuses a row permanently")
			log.await(t, "the history has the rows that waited")
			slices.SortFunc(want, newest)
			if diff := cmp.Diff(want, all(t, to.Reader, sqltrace.Filter{Limit: 1000})); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// ofState is an error with a state, as PostgreSQL's driver returns it.
type ofState string

func (e ofState) Error() string    { return "(SQLSTATE " + string(e) + ")" }
func (e ofState) SQLState() string { return string(e) }

// A row is given up only for what is in it. A full disk, a deadlock or a table that is away may pass.
func TestErrorsAboutRows(t *testing.T) {
	t.Parallel()
	const refused, passes = "refused", "passes"
	for err, want := range map[error]string{
		ofState("22021"): refused, ofState("23514"): refused,
		ofState("54000"): "", // all rows, when transaction numbers run out
		ofState("53100"): passes, ofState("40P01"): passes, ofState("55P03"): passes, ofState("57014"): passes, ofState("42P01"): "", ofState(""): "",
		errors.New("Error 1366 (22007): Incorrect string value"): refused, errors.New("Error 1366 (HY000): Incorrect string value"): refused,
		errors.New("Error 4025 (23000): CONSTRAINT failed"): refused, errors.New("Error 1406 (22001): Data too long"): refused, errors.New("Error 1153 (08S01): Got a packet"): refused,
		errors.New("Error 1021 (HY000): Disk full"): passes, errors.New("Error 1114 (HY000): The table is full"): passes, errors.New("Error 1205 (HY000): Lock wait timeout"): passes,
		errors.New("Error 1213 (40001): Deadlock"): passes, errors.New("Error 1146 (42S02): no such table"): "", errors.New("a guest said: Error 1366 (22007): x"): "", context.DeadlineExceeded: "",
	} {
		wrapped := fmt.Errorf("write rows: %w", err)
		if sqltrace.RefusesRow(wrapped) != (want == refused) || sqltrace.MayPass(wrapped) != (want == passes) {
			t.Errorf("%v is not %q", err, want)
		}
	}
}
