package host

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/trace"
)

// A run that fails is made again, later each time, under its own id; each
// attempt has its row.
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
