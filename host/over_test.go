package host

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/registry/embedded"
	"github.com/wasmjob/wasmjob/host/trace"
)

// A host starts with a job whose last instant has passed. The other jobs run, the job says why
// it does not fire, and a trigger runs it.
func TestAScheduleThatIsOver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reg, rows := embedded.Memory(), &pile{}
		o := Options{
			Registry: reg, Namespace: "jobs", Runner: Func(fine), Sinks: []trace.Sink{rows},
			Jobs: []job.Config{
				{Name: "past", Cron: "0 10 0 1 1 ? 2000", Shards: 1, TimeZone: "UTC", Dialect: "quartz"},
				{Name: "good", Cron: "0 * * * * ?", Shards: 1},
			},
		}
		serve := func(d time.Duration, check func(h *Host)) {
			h, stop := start(t, o)
			<-h.Ready()
			time.Sleep(d)
			synctest.Wait()
			check(h)
			if err := stop(); err != nil {
				t.Error(err)
			}
		}
		serve(2*time.Minute+time.Second, func(h *Host) {
			if got := h.Jobs()[0]; len(got.Troubles) != 0 || got.Next.IsZero() {
				t.Errorf("before its last instant: %+v", got)
			}
		})
		time.Sleep(time.Hour)
		before := rows.count("good", trace.Succeeded)
		serve(2*time.Minute+time.Second, func(h *Host) {
			if got := h.Jobs()[0]; len(got.Troubles) != 1 || !strings.Contains(got.Troubles[0].String(), "is over: its last instant has passed") {
				t.Errorf("after its last instant: %q", got.Troubles)
			}
			if n := rows.count("good", trace.Succeeded) - before; n != 2 {
				t.Errorf("the other job ran %d times", n)
			}
			if err := h.Trigger(t.Context(), "past"); err != nil {
				t.Error(err)
			}
			time.Sleep(time.Second)
			synctest.Wait()
			if n := rows.count("past", trace.Succeeded); n != 1 {
				t.Errorf("a trigger ran it %d times", n)
			}
		})
		if err := reg.Close(); err != nil {
			t.Error(err)
		}
	})
}
