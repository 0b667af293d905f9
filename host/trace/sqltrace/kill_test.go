package sqltrace_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"go.uber.org/goleak"

	"github.com/wasmjob/wasmjob/host/trace"
	"github.com/wasmjob/wasmjob/host/trace/sqltrace"
	"github.com/wasmjob/wasmjob/host/trace/sqltrace/sqltest"
)

// childDir, if set, makes the test binary write to the history in that directory.
const childDir = "SQLTRACE_CHILD_DIR"

func TestMain(m *testing.M) {
	if dir := os.Getenv(childDir); dir != "" {
		fmt.Fprintln(os.Stderr, writeForever(dir, os.Getenv(childDir+"_FROM")))
		os.Exit(1)
	}
	goleak.VerifyTestMain(sqltest.Main{M: m})
}

const killBatch = 40

// writeForever writes batch after batch, and prints each number once it is stored.
func writeForever(dir, from string) error {
	loc := sqltrace.File(filepath.Join(dir, "history.db"))
	s, err := sqltrace.Open(context.Background(), loc)
	if err != nil {
		return err
	}
	n, err := strconv.Atoi(from)
	for ; err == nil; n++ {
		if err = s.Write(context.Background(), numbered(n)); err == nil {
			fmt.Println(n)
		}
	}
	return err
}

func numbered(n int) []trace.Row {
	rows := make([]trace.Row, 0, killBatch)
	for i := range killBatch {
		r := run("j", i, int64(n))
		r.Result = fmt.Sprintf("result %d/%d", n, i)
		rows = append(rows, r)
	}
	return rows
}

func TestKilledWriterLosesNothing(t *testing.T) {
	t.Parallel()
	loc := locate(t)
	safe := -1
	for round := range 3 {
		child := exec.CommandContext(t.Context(), os.Args[0])
		child.Env = append(os.Environ(), childDir+"="+filepath.Dir(loc.String()), childDir+"_FROM="+strconv.Itoa(safe+1))
		child.Stderr = os.Stderr
		out, err := child.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := child.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(out)
		for stop := safe + 15 + round; safe < stop && lines.Scan(); {
			if safe, err = strconv.Atoi(lines.Text()); err != nil {
				t.Fatal(err)
			}
		}
		// The child is in the middle of the next batch.
		if err := child.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		for lines.Scan() { // printed before the signal arrived
			safe, _ = strconv.Atoi(lines.Text())
		}
		_ = child.Wait() // killed: always an error
		safe = verifyBatches(t, loc, safe)
	}
}

// verifyBatches checks that every batch through safe is complete, and that at most one further
// batch exists and is complete, too. It returns the number of the last batch.
func verifyBatches(t *testing.T, loc sqltrace.Location, safe int) int {
	t.Helper()
	s, err := sqltrace.Open(t.Context(), loc)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	rows := all(t, s.Reader, sqltrace.Filter{Limit: sqltrace.MaxLimit})
	batches := len(rows) / killBatch
	if len(rows)%killBatch != 0 || batches < safe+1 || batches > safe+2 {
		t.Fatalf("%d rows after %d safe batches of %d", len(rows), safe+1, killBatch)
	}
	for _, r := range rows {
		if want := fmt.Sprintf("result %d/%d", r.Instant, r.Item); r.Result != want {
			t.Errorf("item %d at %d has %q", r.Item, r.Instant, r.Result)
		}
	}
	db, err := loc.DB()
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var verdict string
	if err := db.QueryRowContext(t.Context(), "PRAGMA integrity_check").Scan(&verdict); err != nil || verdict != "ok" {
		t.Fatalf("integrity: %s %v", verdict, err)
	}
	return batches - 1
}
