package runner

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/registry/embedded"
	"github.com/wasmjob/wasmjob/host/trace"
)

// Instants that passed while no server was there begin when one starts, and both history
// and observers receive the reason.
func TestWhatWasMissedBeginsLate(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		catchUp       job.CatchUp
		late, leftOut int
		first         time.Duration // from the start to the oldest instant that begins late
	}{
		{job.CatchUpNone, 0, 5, 0},
		{job.CatchUpLast, 1, 4, 60 * time.Second},
		{job.CatchUpAll, 5, 0, 20 * time.Second},
	} {
		t.Run(string(c.catchUp), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				reg, rows, start := embedded.Memory(), &book{}, time.Now()
				with := func(o *Options) {
					o.Config.CatchUp, o.Config.Shards, o.Config.ItemParams = c.catchUp, 1, ""
				}
				first := serve(t, reg, rows, "10.0.0.1", with)
				time.Sleep(15 * time.Second)
				first.cancel()
				<-first.done
				time.Sleep(48 * time.Second) // until five instants have come; the late ones end before the next instant
				second := serve(t, reg, rows, "10.0.0.1", with)
				time.Sleep(20 * time.Second)
				second.cancel()
				<-second.done
				var late, leftOut int
				for _, r := range rows.sorted() {
					switch {
					case r.State == trace.Missed:
						leftOut += int(r.Count)
					case r.Cause == trace.CatchUp:
						if at := start.Add(c.first).UnixMilli(); late == 0 && r.Instant != at {
							t.Errorf("the first to begin late is %d, want %d", r.Instant, at)
						}
						late++
					}
				}
				if late != c.late || leftOut != c.leftOut {
					t.Errorf("%d began late and %d were left out, want %d and %d", late, leftOut, c.late, c.leftOut)
				}
				reported := 0
				close(second.events)
				for e := range second.events {
					if e.Kind == End && e.Cause == trace.CatchUp {
						reported++
					}
				}
				if reported != c.late {
					t.Errorf("observers were told of %d, want %d", reported, c.late)
				}
				rows.check(t, testJob, 1, 10*time.Second)
				must(t, reg.Close())
			})
		})
	}
}
