package host

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/registry/embedded"
)

// Every server shows when each item last began and ended and when it is due next, and how many
// elements a job has handled, including on servers that have left.
func TestTimesOfItems(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reg := embedded.Memory()
		run := Func(func(_ context.Context, c job.Call) job.Outcome {
			time.Sleep(time.Duration(c.Item+1) * time.Second)
			return job.Outcome{Verdict: job.OK, Flow: job.Flow{Succeeded: 10, Failed: int64(c.Item)}}
		})
		var hosts []*Host
		var stops []func() error
		for _, id := range []job.InstanceID{"10.0.0.1@-@1", "10.0.0.2@-@1"} {
			h, stop := start(t, Options{
				Registry: reg, Instance: id, Runner: run,
				Jobs: []job.Config{{Name: "j", Cron: "0 * * * * ?", Shards: 2, Kind: job.Dataflow}},
			})
			<-h.Ready()
			hosts, stops = append(hosts, h), append(stops, stop)
		}
		time.Sleep(time.Second)
		due := time.Now().Truncate(time.Minute).Add(time.Minute)
		time.Sleep(time.Until(due) + 10*time.Second)
		check := func(h *Host) {
			t.Helper()
			s := h.Jobs()[0]
			if s.Succeeded != 20 || s.Failed != 1 {
				t.Errorf("%d elements succeeded, %d failed", s.Succeeded, s.Failed)
			}
			for i, it := range s.Items {
				if !it.LastBegin.Equal(due) || !it.LastEnd.Equal(due.Add(time.Duration(i+1)*time.Second)) || !it.Next.Equal(due.Add(time.Minute)) {
					t.Errorf("item %d began %s, ended %s, is due %s", i, it.LastBegin, it.LastEnd, it.Next)
				}
			}
		}
		for _, h := range hosts {
			check(h)
		}
		if err := stops[0](); err != nil {
			t.Error(err)
		}
		time.Sleep(time.Second)
		check(hosts[1])
		if err := stops[1](); err != nil {
			t.Error(err)
		}
		if err := reg.Close(); err != nil {
			t.Error(err)
		}
	})
}
