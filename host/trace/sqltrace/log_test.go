package sqltrace_test

import (
	"strings"
	"testing"

	"github.com/wasmjob/wasmjob/host/trace/sqltrace"
)

// A guest's log is bounded and read only on request, and an empty log differs from one that was
// not kept.
func TestLogs(t *testing.T) {
	everywhere(t, func(t *testing.T, loc sqltrace.Location) {
		s := open(t, loc)
		logged, silent, unkept := run("j", 0, 10), run("j", 0, 20), run("j", 0, 30)
		logged.Log, logged.HasLog, silent.HasLog = strings.Repeat("line\n", sqltrace.MaxLog), true, true
		write(t, s, logged, silent, unkept)
		rows := all(t, s.Reader, sqltrace.Filter{Logs: true})
		if got := rows[2].Log; len(got) > sqltrace.MaxLog || !strings.HasSuffix(got, "bytes]") || !rows[2].HasLog {
			t.Errorf("%d bytes are kept: %.100q", len(got), got)
		}
		if rows[1].Log != "" || !rows[1].HasLog || rows[0].HasLog {
			t.Errorf("nothing logged is %v, nothing kept is %v", rows[1].HasLog, rows[0].HasLog)
		}
		if rows := all(t, s.Reader, sqltrace.Filter{Run: "10"}); len(rows) != 1 || rows[0].Log != "" {
			t.Errorf("unasked for comes %+v", rows)
		}
	})
}
