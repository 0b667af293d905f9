package operator

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/internal/layout/clustertree"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/reason"
	"github.com/wasmjob/wasmjob/host/registry/embedded"
	"github.com/wasmjob/wasmjob/host/trace"
)

// An operator cancels runs on any server: with a grace period, and at once. They are not retried, and
// the next instant begins as usual.
func TestRunsAreCancelled(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reg, rows := embedded.Memory(), &pile{}
		deaf := host.Func(func(ctx context.Context, c job.Call) job.Outcome {
			for c.Item != 0 || c.Why() == job.Continue { // item 0 looks whether it is to stop
				select {
				case <-time.After(time.Second):
				case <-ctx.Done():
					return job.Outcome{Verdict: job.Stopped}
				}
			}
			return job.Outcome{Verdict: job.Failure, Error: "gave up"}
		})
		config := job.Config{Name: "j", Cron: "0 0 * * * ?", Shards: 4, Retry: job.Retry{Attempts: 3}, Limits: job.Limits{Grace: time.Minute}}
		h, stop := start(t, host.Options{Registry: reg, Namespace: "jobs", Instance: "10.0.0.1@-@a", Jobs: []job.Config{config}, Sinks: []trace.Sink{rows}, Runner: deaf})
		<-h.Ready()
		shared := NewSharedSession(reg, "jobs")
		ctx, end := context.WithCancel(t.Context())
		var carrying sync.WaitGroup
		carrying.Go(func() { shared.CarryOut(ctx, h, slog.New(slog.DiscardHandler)) })
		o := operate(t, reg)
		_, err := o.Cancel(ctx, "j", CancelFilter{})
		wantCode(t, "cancel what does not run", err, host.NotFound)
		time.Sleep(61 * time.Minute)

		cancel := func(f CancelFilter, after time.Duration, runs, cancelled int) {
			t.Helper()
			got, err := o.Cancel(ctx, "j", f)
			if err != nil || len(got) != runs {
				t.Errorf("%+v: %v, error %v, want %d runs", f, got, err, runs)
			}
			time.Sleep(after)
			if got := rows.count("j", trace.Cancelled); got != cancelled {
				t.Errorf("%+v: %d runs are cancelled, want %d", f, got, cancelled)
			}
		}
		zero, one := 0, 1
		cancel(CancelFilter{Item: &zero}, 5*time.Second, 1, 1)
		cancel(CancelFilter{Item: &one}, 5*time.Second, 1, 1) // it does not look
		cancel(CancelFilter{Item: &one, Now: true}, 5*time.Second, 1, 2)
		instant := time.Now().Truncate(time.Hour)
		cancel(CancelFilter{Run: instant.UTC().Format(time.RFC3339)}, 70*time.Second, 2, 4) // the grace is over
		_, err = o.Cancel(ctx, "j", CancelFilter{Run: "17"})
		wantCode(t, "cancel no run", err, host.NotFound)
		for _, r := range rows.rows {
			if diff := cmp.Diff(reason.Of(reason.RunCancelled), r.Reason); diff != "" || r.Attempt != 1 {
				t.Errorf("item %d, attempt %d: %s", r.Item, r.Attempt, diff)
			}
		}
		time.Sleep(time.Hour)
		if got, err := o.Cancel(ctx, "j", CancelFilter{Now: true}); err != nil || len(got) != 4 {
			t.Errorf("at the next instant run %v, error %v", got, err)
		}
		time.Sleep(time.Second)
		end()
		carrying.Wait()
		if err := errors.Join(o.Close(), stop(), shared.Close(), reg.Close()); err != nil {
			t.Error(err)
		}
	})
}

// One request has room for a bounded number of runs, and returns no others.
func TestCancelOfManyRuns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reg := embedded.Memory()
		long := host.Func(func(ctx context.Context, _ job.Call) job.Outcome {
			<-ctx.Done()
			return job.Outcome{Verdict: job.Stopped}
		})
		config := job.Config{Name: "j", Cron: "0 0 * * * ?", Shards: clustertree.MaxCancels + 1, Parallel: clustertree.MaxCancels + 1}
		h, stop := start(t, host.Options{Registry: reg, Namespace: "jobs", Instance: "10.0.0.1@-@a", Jobs: []job.Config{config}, Runner: long})
		<-h.Ready()
		time.Sleep(61 * time.Minute)
		o := operate(t, reg)
		if got, err := o.Cancel(t.Context(), "j", CancelFilter{}); err != nil || len(got) != clustertree.MaxCancels {
			t.Errorf("%d runs, %v", len(got), err)
		}
		if err := errors.Join(o.Close(), stop(), reg.Close()); err != nil {
			t.Error(err)
		}
	})
}
