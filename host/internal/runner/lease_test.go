package runner

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/wasmjob/wasmjob/host/internal/session"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/registry/embedded"
	"github.com/wasmjob/wasmjob/host/registry/registrytest"
	"github.com/wasmjob/wasmjob/host/trace"
)

// A command's lease lasts until guests would be ended: three quarters of the time-out
// after the registry's last answer. If the lease lapses first, because the server stood
// still, the run counts as ended for that reason, and runs again.
func TestLease(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		loss    job.OnRegistryLoss
		granted time.Duration // time-out of the session; 0 if it never ends
		bounded bool
		want    map[trace.State]int
	}{
		{job.CancelOnLoss, 30 * time.Second, true, map[trace.State]int{trace.Retried: 1, trace.Succeeded: 1}},
		{job.FinishOnLoss, 30 * time.Second, false, map[trace.State]int{trace.Succeeded: 1}},
		{job.CancelOnLoss, 0, false, map[trace.State]int{trace.Succeeded: 1}},
	} {
		t.Run(string(c.loss)+" "+c.granted.String(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				reg, rows, calls := registrytest.NewFaulty(embedded.Memory(), nil), &book{}, make(chan job.Call, 2)
				reg.Grant(c.granted)
				lapse := make(chan struct{})
				s := serve(t, reg, rows, "10.0.0.1", func(o *Options) {
					o.Config.Kind, o.Config.Command = job.Script, "/bin/true"
					o.Config.Cron, o.Config.Shards, o.Config.OnRegistryLoss, o.Config.ItemParams = "1h", 1, c.loss, ""
					o.Guests = guestFunc(func(ctx context.Context, call job.Call) job.Outcome {
						calls <- call
						select {
						case <-lapse:
							lapse = nil
							call.Lease.Lapsed()
							return job.Outcome{Verdict: job.Stopped}
						case <-ctx.Done():
							return job.Outcome{Verdict: job.Stopped}
						case <-time.After(10 * time.Minute):
							return job.Outcome{Verdict: job.OK}
						}
					})
				})
				call := <-calls
				left, bounded := call.Lease.Left()
				if bounded != c.bounded || bounded && (left <= 15*time.Second || left > 22500*time.Millisecond) {
					t.Errorf("%v left, bounded: %v", left, bounded)
				}
				back := reg.Silence()
				if session.Sleep(t.Context(), 10*time.Second); c.bounded {
					if now, _ := call.Lease.Left(); left-now != 10*time.Second {
						t.Errorf("%v left, and %v when nothing was heard for 10 s", left, now)
					}
					close(lapse)
				}
				back()
				time.Sleep(30 * time.Minute)
				s.stop(t)
				if diff := cmp.Diff(c.want, rows.states()); diff != "" {
					t.Errorf("states (-want +got):\n%s", diff)
				}
				must(t, reg.Close())
			})
		})
	}
}
