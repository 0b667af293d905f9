package host

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/registry/embedded"
)

// listener is a job in Go that records each event with the number of its runs that go on.
type listener struct {
	mu       sync.Mutex
	going    int
	reported []string
}

func (l *listener) Listens() (started, completed bool) { return true, true }

func (l *listener) Run(_ context.Context, c job.Call) job.Outcome {
	if c.Event != "" {
		<-time.After(time.Millisecond) // the registry shows a run slightly before its code starts here
	}
	l.count(1, c)
	if c.Event == "" {
		<-time.After(time.Duration(c.Item+1) * time.Second)
	}
	l.count(-1, c)
	return job.Outcome{Verdict: []job.Verdict{job.OK, job.Failure, job.Nothing}[c.Item%3]}
}

func (l *listener) count(n int, c job.Call) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case c.Event == "":
		l.going += n
	case n > 0:
		reported := fmt.Sprintf("%s %s/%d, %d go on", c.Event, c.Scheduled.UTC().Format("15:04"), c.Attempt, l.going)
		if r := c.Results; r != nil {
			reported += fmt.Sprintf("; %d succeeded, %d failed, %d had nothing to do", r.Succeeded, r.Failed, r.Skipped)
		}
		l.reported = append(l.reported, reported)
	}
}

func TestFiresAreReportedOnceForAllServers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reg := embedded.Memory()
		l := &listener{}
		var stops []func() error
		for _, id := range []job.InstanceID{"10.0.0.1@-@1", "10.0.0.2@-@1"} {
			h, stop := start(t, Options{
				Registry: reg, Instance: id, Jobs: []job.Config{{Name: "j", Cron: "0 * * * * ?", Shards: 3}}, Runner: l,
			})
			<-h.Ready()
			stops = append(stops, stop)
		}
		time.Sleep(time.Second)
		at := time.Now().Truncate(time.Minute)
		time.Sleep(2*time.Minute + 30*time.Second)
		synctest.Wait()
		var want []string
		for n := 1; n <= 2; n++ {
			minute := at.Add(time.Duration(n) * time.Minute).UTC().Format("15:04")
			want = append(want, "started "+minute+"/1, 3 go on", "completed "+minute+"/1, 0 go on; 1 succeeded, 1 failed, 1 had nothing to do")
		}
		if !slices.Equal(l.reported, want) {
			t.Errorf("told:\n%s\nwant:\n%s", strings.Join(l.reported, "\n"), strings.Join(want, "\n"))
		}
		for _, stop := range stops {
			if err := stop(); err != nil {
				t.Error(err)
			}
		}
		if err := reg.Close(); err != nil {
			t.Error(err)
		}
	})
}
