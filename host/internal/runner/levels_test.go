package runner

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/registry/embedded"
	"github.com/wasmjob/wasmjob/host/trace"
)

// A failed run is reported once. Its row stays in its server's record after the history
// has it. A member that reclaims the record reports the row again only if that server may
// not have reported it.
// not have come to it.
func TestRowsOfOthersAreReportedOnce(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		after time.Duration // from the end of the runs to the death
		want  int           // of the server's two items
	}{
		{"long after it reported them", 10 * time.Minute, 2},
		{"as it reports them", 5 * time.Second, 4},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				reg := embedded.Memory()
				var mu sync.Mutex // guards reported
				var reported []string
				fails := func(o *Options) {
					o.Config.Cron = "1h"
					o.Guests = guestFunc(func(context.Context, job.Call) job.Outcome { return job.Outcome{Error: "it is full"} })
					o.Observe = func(e *Event) {
						if e.Kind == NewRow && e.Row.State == trace.Failed {
							mu.Lock()
							defer mu.Unlock()
							reported = append(reported, e.Row.Instance)
						}
					}
				}
				time.Sleep(time.Until(time.Now().Truncate(time.Hour).Add(time.Hour - 5*time.Second)))
				one := serve(t, reg, &book{}, "10.0.0.1", fails)
				two := serve(t, reg, &book{}, "10.0.0.2", fails)
				time.Sleep(5*time.Second + tt.after)
				must(t, one.kill())
				time.Sleep(time.Minute)
				mu.Lock()
				all := slices.DeleteFunc(reported, func(by string) bool { return by != "10.0.0.1@-@1" })
				mu.Unlock()
				if len(all) != tt.want {
					t.Errorf("failures of the server that died were reported %d times, want %d", len(all), tt.want)
				}
				one.stop(t)
				two.stop(t)
				must(t, reg.Close())
			})
		})
	}
}
