package runner

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wasmjob/wasmjob/host/internal/session"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/registry/embedded"
)

// The log of a guest appears in the server's log, where each line names run and attempt,
// and in the row of the attempt.
func TestRowHasTheLogOfItsAttempt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reg, rows := embedded.Memory(), &book{}
		var log lockedBuffer
		s := serve(t, reg, rows, "10.0.0.1", func(o *Options) {
			o.Config.Shards, o.Config.Retry = 1, job.Retry{Attempts: 2, Backoff: time.Second}
			o.Log = slog.New(slog.NewTextHandler(&log, nil))
			o.Guests = guestFunc(func(ctx context.Context, c job.Call) job.Outcome {
				session.Sleep(ctx, time.Duration(c.Attempt)*time.Second)
				c.Log.With("item", c.Item).Warn(fmt.Sprintf("attempt %d", c.Attempt), "n", 7) //nolint:sloglint // as guests do
				c.Log.Debug("nobody reads")
				return job.Outcome{Verdict: job.Failure}
			})
		})
		time.Sleep(15 * time.Second)
		s.stop(t)
		got := rows.sorted()
		if len(got) < 2 {
			t.Fatalf("%d rows", len(got))
		}
		for k, want := range []string{"+1.000s warn attempt 1 n=7\n", "+2.000s warn attempt 2 n=7\n"} {
			if r := got[k]; r.Attempt != k+1 || r.Log != want || !r.HasLog {
				t.Errorf("attempt %d logged %q, %v; want %q", r.Attempt, r.Log, r.HasLog, want)
			}
			if want := fmt.Sprintf(`level=WARN msg="attempt %d" source=guest item=0 run=%s/0/%s attempt=%d n=7`, k+1, testJob, got[k].Run, k+1); !strings.Contains(log.String(), want) {
				t.Errorf("the log has no line %s:\n%s", want, &log)
			}
		}
		must(t, reg.Close())
	})
}
