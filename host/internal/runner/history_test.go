package runner

import (
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/registry/embedded"
	"github.com/wasmjob/wasmjob/host/trace"
)

func TestRowThatCanNeverBeStored(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reg := embedded.Memory()
		rows := &book{bad: func(r trace.Row) bool { return r.Item == 2 && r.State == trace.Succeeded }}
		var log lockedBuffer
		s := serve(t, reg, rows, "10.0.0.1", func(o *Options) { o.Log = slog.New(slog.NewTextHandler(&log, nil)) })
		time.Sleep(25 * time.Second)
		if got := s.Status().Troubles; len(got) != 1 || !strings.Contains(got[0], "2 since") {
			t.Errorf("troubles %q, want one that counts two rows", got)
		}
		s.stop(t)
		if got := rows.states()[trace.Succeeded]; got != 6 {
			t.Errorf("%d rows, want 6", got)
		}
		if n := strings.Count(log.String(), "level=ERROR"); n != 2 || !strings.Contains(log.String(), "item 2 of 4") {
			t.Errorf("%d errors in the log, want one for each row, with all of it:\n%s", n, log.String())
		}
		must(t, reg.Close())
	})
}

// A gap is counted by the schedule under which it came about, whatever is in
// force when its row is stored.
func TestGapsKeepTheirSchedule(t *testing.T) {
	t.Parallel()
	m := &member{lives: &lives{Runner: New(Options{Config: new(testConfig()), Clock: &metronome{}})}}
	gap := protocol.Row{Gap: true, After: 0, Until: 60_000, Cron: "10s"}
	row, ok, err := m.row(&gap, "1s")
	if err != nil || !ok || row.Count != 5 || row.Instant != 10_000 || row.Last != 50_000 {
		t.Errorf("%+v, %v, %v; want 5 instants", row, ok, err)
	}
	gap.Cron = "" // in a record of an older release
	if row, ok, err = m.row(&gap, "20s"); err != nil || !ok || row.Count != 2 {
		t.Errorf("%+v, %v, %v; want 2 instants", row, ok, err)
	}
}
