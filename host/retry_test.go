package host

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/registry/embedded"
	"github.com/wasmjob/wasmjob/host/trace"
)

// With only_asked a run is tried again only if its guest asked for that.
func TestRetriesOnlyAsked(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		rows := &pile{}
		run := Func(func(_ context.Context, c job.Call) job.Outcome {
			verdicts := []job.Verdict{job.Failure, job.Deadline, job.Retryable}
			if c.Attempt > 1 {
				return job.Outcome{Verdict: job.Failure}
			}
			return job.Outcome{Verdict: verdicts[c.Item]}
		})
		h, stop := start(t, Options{
			Jobs: []job.Config{{
				Name: "j", Cron: "0 * * * * ?", Shards: 3, Retry: job.Retry{Attempts: 3, Backoff: time.Second, OnlyAsked: true},
			}},
			Runner: run, Sinks: []trace.Sink{rows},
		})
		<-h.Ready()
		time.Sleep(90 * time.Second)
		synctest.Wait()
		if err := stop(); err != nil {
			t.Error(err)
		}
		got := map[string]int{}
		for _, r := range rows.rows {
			got[fmt.Sprintf("item %d attempt %d %s", r.Item, r.Attempt, r.State)]++
		}
		want := map[string]int{"item 0 attempt 1 failed": 1, "item 1 attempt 1 timed_out": 1, "item 2 attempt 1 retried": 1, "item 2 attempt 2 failed": 1}
		if !maps.Equal(got, want) {
			t.Errorf("rows %v, want %v", got, want)
		}
	})
}

// A run that fails is tried again under its own id, after growing pauses. Each attempt has its
// row.
func TestRetries(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		rows := &pile{}
		var calls atomic.Int32
		run := Func(func(_ context.Context, c job.Call) job.Outcome {
			if n := calls.Add(1); n < 4 {
				return job.Outcome{Verdict: []job.Verdict{job.Failure, job.Retryable, job.Deadline}[n-1], Error: fmt.Sprintf("fault %d", n)}
			}
			return job.Outcome{Verdict: job.OK}
		})
		h, stop := start(t, Options{
			Jobs: []job.Config{{
				Name: "j", Cron: "0 * * * * ?", Shards: 1,
				Retry: job.Retry{Attempts: 5, Backoff: 2 * time.Second, MaxBackoff: 5 * time.Second},
			}},
			Runner: run, Sinks: []trace.Sink{rows},
		})
		<-h.Ready()
		time.Sleep(90 * time.Second)
		synctest.Wait()
		var got []string
		due := int64(0)
		for _, r := range rows.rows {
			if due == 0 {
				due = r.Instant
			}
			if r.Run != rows.rows[0].Run || r.Instant != due {
				t.Errorf("row of another run: %+v", r)
			}
			got = append(got, fmt.Sprintf("%d %s after %d s: %s", r.Attempt, r.State, (r.Start-due)/1000, r.Error))
		}
		want := []string{
			"1 retried after 0 s: fault 1", "2 retried after 2 s: fault 2", "3 retried after 6 s: fault 3", "4 succeeded after 11 s: ",
		}
		if !slices.Equal(got, want) {
			t.Errorf("rows %q, want %q", got, want)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

// A run that waits for its next attempt outlives its server. The next server makes that
// attempt, at the same time and with the same number.
func TestRetryOutlivesItsServer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		rows := &pile{}
		run := Func(func(_ context.Context, c job.Call) job.Outcome {
			if c.Attempt == 1 {
				return job.Outcome{Verdict: job.Failure}
			}
			return job.Outcome{Verdict: job.OK}
		})
		reg := embedded.Memory()
		defer reg.Close()
		o := Options{
			Jobs: []job.Config{{
				Name: "j", Cron: "0 0 * * * ?", Shards: 1, Retry: job.Retry{Attempts: 2, Backoff: 5 * time.Minute},
			}},
			Runner: run, Registry: reg, Sinks: []trace.Sink{rows},
		}
		h, stop := start(t, o)
		<-h.Ready()
		time.Sleep(time.Until(time.Now().Truncate(time.Hour).Add(time.Hour + time.Minute)))
		synctest.Wait()
		if err := stop(); err != nil {
			t.Error(err)
		}
		h, stop = start(t, o)
		<-h.Ready()
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		var got []string
		for _, r := range rows.rows {
			got = append(got, fmt.Sprintf("%d %s after %d s", r.Attempt, r.State, (r.Start-r.Instant)/1000))
		}
		if want := []string{"1 retried after 0 s", "2 succeeded after 300 s"}; !slices.Equal(got, want) {
			t.Errorf("rows %q, want %q", got, want)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

// An attempt that ends with its server is followed by an attempt on another server, which gets
// the next number but does not count towards the job's retries.
func TestDrainDoesNotCountAsAttempt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		rows := &pile{}
		run := Func(func(_ context.Context, c job.Call) job.Outcome {
			switch c.Attempt {
			case 1:
				for c.Why() == job.Continue {
					time.Sleep(time.Second)
				}
				return job.Outcome{Verdict: job.Stopped}
			case 2:
				return job.Outcome{Verdict: job.Failure}
			}
			return job.Outcome{Verdict: job.OK}
		})
		reg := embedded.Memory()
		defer reg.Close()
		o := Options{
			Jobs:   []job.Config{{Name: "j", Cron: "0 0 * * * ?", Shards: 1, Retry: job.Retry{Attempts: 2}, Limits: job.Limits{Grace: 10 * time.Second}}},
			Runner: run, Registry: reg, Sinks: []trace.Sink{rows}, DrainTimeout: time.Second,
		}
		h, stop := start(t, o)
		<-h.Ready()
		time.Sleep(time.Until(time.Now().Truncate(time.Hour).Add(time.Hour + time.Minute)))
		synctest.Wait()
		if err := stop(); err != nil {
			t.Error(err)
		}
		h, stop = start(t, o)
		<-h.Ready()
		time.Sleep(time.Minute)
		synctest.Wait()
		var got []string
		for _, r := range rows.rows {
			got = append(got, fmt.Sprintf("%d %s: %s", r.Attempt, r.State, r.Reason))
		}
		if want := []string{"1 retried: the server was shutting down", "2 retried: it failed", "3 succeeded: "}; !slices.Equal(got, want) {
			t.Errorf("rows %q, want %q", got, want)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}
