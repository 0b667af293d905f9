package runner

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/reason"
	"github.com/wasmjob/wasmjob/host/registry/embedded"
	"github.com/wasmjob/wasmjob/host/registry/registrytest"
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
		if got := s.Status().Troubles; len(got) != 1 || !strings.Contains(got[0].String(), "2 since") {
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

// A gap is counted by the schedule under which it arose, even if another is in force when
// its row is stored.
func TestGapsKeepTheirSchedule(t *testing.T) {
	t.Parallel()
	m := &member{generations: &generations{Runner: New(Options{Config: new(testConfig()), Clock: &metronome{}})}}
	schedules := []protocol.Schedule{{Cron: "20s"}, {Since: 90_000, Cron: "no schedule"}, {Since: 120_000, Cron: "1s"}}
	tests := []struct {
		row  protocol.Row
		want string
	}{
		{protocol.Row{Gap: true, After: 0, Until: 60_000, Cron: "10s", Why: reason.Text("w")}, "gap-10000 5 to 50000 of 10s: w"},
		{protocol.Row{Gap: true, After: 0, Until: 60_000, Why: reason.Text("w")}, "gap-20000 2 to 40000 of 20s: w"}, // in a record of an older release
		{protocol.Row{Gap: true, After: 0, Until: 130_000, Why: reason.Text("w")}, "gap-1000 129 to 129000 of 1s: w"},
		{protocol.Row{Gap: true, After: 89_999, Until: 120_001, Cron: "no schedule", Why: reason.Text("w")}, "gap-100000 2 to 120000 of 20s: the schedule in the registry could not be read"},
		{protocol.Row{Gap: true, After: 0, Until: 60_000, Cron: "never known", Why: reason.Text("w")}, "nothing"},
		{protocol.Row{Entry: protocol.Entry{Instant: 80_000}}, "80000 0 to 0 of 20s: "},
		{protocol.Row{Entry: protocol.Entry{Instant: 120_000}}, "120000 0 to 0 of 1s: "},
		{protocol.Row{Entry: protocol.Entry{Instant: 120_000, Trigger: "t7"}}, "t7 0 to 0 of : "},
	}
	for _, tt := range tests {
		row, ok := m.row(&tt.row, schedules)
		got := "nothing"
		if ok {
			got = fmt.Sprintf("%s %d to %d of %s: %s", row.Run, row.Count, row.Last, row.Schedule, row.Reason)
		}
		if got != tt.want {
			t.Errorf("%+v: %s, want %s", tt.row, got, tt.want)
		}
	}
}

// Instants between two sessions are missed, and the server that missed them gives the
// reason.
func TestGapsOfALostRegistry(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reg, rows := registrytest.NewFaulty(embedded.Memory(), nil), &book{}
		closed := new(atomic.Bool)
		s := serve(t, registrytest.Unreachable{Registry: reg, Away: closed.Load}, rows, "10.0.0.1", nil)
		time.Sleep(15 * time.Second)
		closed.Store(true)
		must(t, reg.EndSessions())
		time.Sleep(5 * time.Minute)
		closed.Store(false)
		time.Sleep(2 * time.Minute)
		s.stop(t)
		missed := 0
		for _, r := range rows.sorted() {
			if r.State == trace.Missed {
				missed++
				if want := reason.NotBegunRegistryLost; r.Reason.Code != want {
					t.Errorf("item %d from %d on: %q, want %q", r.Item, r.Instant, r.Reason, want)
				}
			}
		}
		if missed != 4 {
			t.Errorf("%d gaps, want one for each item", missed)
		}
		must(t, reg.Close())
	})
}

// slowOnce takes its first rows when the gate opens, and refuses all others.
type slowOnce struct {
	gate   chan struct{}
	writes atomic.Int32
}

func (s *slowOnce) Write(context.Context, []trace.Row) error {
	if s.writes.Add(1) > 1 {
		return errors.New("away")
	}
	<-s.gate
	return nil
}

// Rows that wait behind a refused one are still reported.
func TestRowsBehindARefusedOneAreReported(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reg := embedded.Memory()
		gate := make(chan struct{})
		var reported atomic.Int32
		s := serve(t, reg, nil, "10.0.0.1", func(o *Options) {
			o.Sink = &slowOnce{gate: gate}
			o.Observe = func(e *Event) {
				if e.Kind == NewRow {
					reported.Add(1)
				}
			}
		})
		time.Sleep(45 * time.Second) // several fires end meanwhile
		close(gate)
		synctest.Wait()
		if got := reported.Load(); got != 16 {
			t.Errorf("%d rows were reported, want those of four items and four instants", got)
		}
		s.cancel()
		<-s.done // with an error: not all rows are stored
		must(t, reg.Close())
	})
}
