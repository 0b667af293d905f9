package sqltrace_test

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/wasmjob/wasmjob/host/trace"
	"github.com/wasmjob/wasmjob/host/trace/sqltrace"
	"github.com/wasmjob/wasmjob/host/trace/sqltrace/sqltest"
)

// A frozen database blocks no writer: rows wait in the file, are counted there, and are stored
// once when the database continues.
func TestRowsWaitWhileTheDatabaseIsFrozen(t *testing.T) {
	t.Parallel()
	for name, shared := range map[string]func(testing.TB) *sqltest.Server{"PostgreSQL": sqltest.Postgres, "MariaDB": sqltest.MariaDB} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := shared(t).Start(t)
			to := open(t, address(t, server.Database(t)))
			to.Hasty(time.Second)
			s, log, stop := spool(t, to, locate(t))
			defer stop()
			var want []trace.Row
			put := func(r trace.Row) {
				t.Helper()
				if err := s.Write(t.Context(), []trace.Row{r}); err != nil {
					t.Fatal(err)
				}
				want = append(want, r)
			}
			put(run("j", 0, 1))
			server.Freeze(t)
			for i := range int64(20) {
				put(run("j", 0, 10+i))
			}
			if n, err := s.Waiting(t.Context()); n != 20 && n != 21 || err != nil { // the first one may be stored before Deliver begins
				t.Errorf("%d rows wait, %v", n, err)
			}
			hurried, cancel := context.WithCancel(t.Context())
			cancel()
			if n, err := s.Waiting(hurried); n < 20 || err == nil {
				t.Errorf("without the time to count %d rows wait, %v", n, err)
			}
			log.await(t, "wait in a file")
			server.Thaw(t)
			log.await(t, "the history has the rows that waited")
			put(run("j", 0, 100))
			slices.SortFunc(want, newest)
			if diff := cmp.Diff(want, all(t, to.Reader, sqltrace.Filter{})); diff != "" {
				t.Error(diff)
			}
			if n, err := s.Waiting(t.Context()); n != 0 || err != nil {
				t.Errorf("%d rows wait, %v", n, err)
			}
		})
	}
}

// A full file refuses rows and keeps those that it has. If the refused rows are written again
// later, all are stored.
func TestRowsThatWaitAreBounded(t *testing.T) {
	t.Parallel()
	server := sqltest.Postgres(t).Start(t)
	to := open(t, address(t, server.Database(t)))
	log := make(lines, 100)
	s, err := sqltrace.OpenSmallSpool(t.Context(), to, locate(t), slog.New(slog.NewTextHandler(log, nil)), 256<<10)
	if err != nil {
		t.Fatal(err)
	}
	server.Kill()
	var want, refused []trace.Row
	for i := range int64(100) {
		r := run("j", 0, 10+i)
		r.Error = strings.Repeat("e", 10_000)
		want = append(want, r)
		if err := s.Write(t.Context(), []trace.Row{r}); err != nil {
			refused = append(refused, r)
			if !strings.Contains(err.Error(), "there is no room for waiting rows") {
				t.Error(err)
			}
		}
	}
	if n, err := s.Waiting(t.Context()); n != int64(len(want)-len(refused)) || n == 0 || len(refused) == 0 || err != nil {
		t.Errorf("%d rows wait, %d were refused, %v", n, len(refused), err)
	}
	server.Restart(t)
	ended := make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		defer close(ended)
		s.Deliver(ctx)
	}()
	log.await(t, "the history has the rows that waited")
	if err := s.Write(t.Context(), refused); err != nil {
		t.Error(err)
	}
	cancel()
	<-ended
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	slices.SortFunc(want, newest)
	if diff := cmp.Diff(want, all(t, to.Reader, sqltrace.Filter{Limit: 1000})); diff != "" {
		t.Error(diff)
	}
}
