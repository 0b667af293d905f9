package operator

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/wasmjob/wasmjob/host/internal/javatest"
	"github.com/wasmjob/wasmjob/host/internal/layout"
	"github.com/wasmjob/wasmjob/host/internal/layout/v21"
	"github.com/wasmjob/wasmjob/host/internal/status"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/registry"
	"github.com/wasmjob/wasmjob/host/registry/embedded"
)

// counting is a registry that counts the configurations that its sessions read. during is called
// while one is read.
type counting struct {
	registry.Registry
	on     func(registry.Event)
	read   atomic.Int64
	during func()
}

func (c *counting) Open(ctx context.Context, on func(registry.Event)) (registry.Session, error) {
	c.on = on
	s, err := c.Registry.Open(ctx, on)
	return countingSession{s, c}, err
}

type countingSession struct {
	registry.Session
	of *counting
}

func (s countingSession) Read(ctx context.Context, path string) (registry.Node, error) {
	n, err := s.Session.Read(ctx, path)
	if strings.HasSuffix(path, "/config") {
		s.of.read.Add(1)
		if during := s.of.during; during != nil {
			s.of.during = nil
			during()
		}
	}
	return n, err
}

// A list reads only the jobs that have changed since the last one, and shows the same as in a new session.
func TestListsReadWhatHasChanged(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := &counting{Registry: embedded.Memory()}
		fresh := operate(t, c.Registry)
		config := func(name, cron string) string {
			return javatest.Config(func(c *v21.Config) { c.JobName, c.Cron = name, cron })
		}
		add := func(name string) {
			l := layout.NewJob("jobs", name)
			put(t, fresh, registry.Create, l.Root(), "")
			put(t, fresh, registry.Create, l.At("config"), config(name, "0 0 1 * * ?"))
		}
		put(t, fresh, registry.Create, "/jobs", "")
		for _, name := range []string{"a", "ab", "b", "c"} {
			add(name)
		}
		put(t, fresh, registry.Create, "/jobs/none", "")
		shared := NewSharedSession(c, "jobs")
		ownFile := func(class string) []job.Config {
			return javatest.File(func(j *job.Config) { j.Name, j.Class = "a", class })
		}
		file := ownFile("com.acme.OrderJob")
		list := func(what string, reads int64) {
			t.Helper()
			synctest.Wait() // the events have arrived
			before := c.read.Load()
			o, err := shared.Operator(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			o.Compare(file) // as a server does for each request
			fresh.Compare(file)
			got, _, err := o.JobsPage(t.Context(), JobFilter{State: status.Down, Limit: 100})
			if err := o.Close(); err != nil {
				t.Error(err)
			}
			n := c.read.Load() - before
			want, _, err2 := fresh.JobsPage(t.Context(), JobFilter{State: status.Down, Limit: 100})
			if d := cmp.Diff(want, got); d != "" || err != nil || err2 != nil || n != reads {
				t.Errorf("%s: %d reads, want %d; %v, %v, %s", what, n, reads, err, err2, d)
			}
		}
		set := func(name, data string) {
			put(t, fresh, registry.Set, layout.NewJob("jobs", name).At("config"), data)
		}
		list("at first", 5)
		list("again", 1) // a node that is no job is read again
		set("a", config("a", "0 0 2 * * ?"))
		list("one has changed", 2)
		list("and is known", 1)
		file = ownFile("com.acme.Mine")
		list("one has another file", 2)
		list("and is known with it", 1)
		set("b", "nothing")
		list("one cannot be read", 2)
		add("d")
		list("one is new", 2)
		if err := fresh.Remove(t.Context(), "c", true); err != nil {
			t.Error(err)
		}
		list("one is gone", 1)
		set("ab", config("ab", "0 0 3 * * ?"))
		c.during = func() { set("ab", config("ab", "0 0 4 * * ?")); synctest.Wait() }
		synctest.Wait()
		if o, err := shared.Operator(t.Context()); err != nil {
			t.Fatal(err)
		} else {
			o.Compare(file)
			if _, _, err := o.JobsPage(t.Context(), JobFilter{Limit: 100}); err != nil || o.Close() != nil {
				t.Error(err)
			}
		}
		list("one has changed while it was read", 2)
		set("d", config("d", "0 0 1 2 1 ? 2000")) // once, tomorrow
		list("one fires once", 2)
		time.Sleep(48 * time.Hour)
		list("each has had an instant, and one no further", 4)
		list("and they are known", 1)
		for _, kind := range []registry.EventKind{registry.Suspended, registry.Resumed} {
			c.on(registry.Event{Kind: kind})
			list("events may be missing", 5)
		}
		if err := shared.Close(); err != nil {
			t.Error(err)
		}
		if err := fresh.Close(); err != nil {
			t.Error(err)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
}

// A cached report is not used while a reshard is pending: no event says that it is overdue. That of a
// foreign leader is never overdue.
func TestARosterReadsAJobWithAReshardAgain(t *testing.T) {
	t.Parallel()
	members := []MemberReport{{ID: "10.0.0.1@-@1"}, {ID: "10.0.0.2@-@1", Foreign: true}}
	for name, tt := range map[string]struct {
		report JobReport
		again  bool
	}{
		"none":                {JobReport{Leader: members[0].ID}, false},
		"of a leader of ours": {JobReport{Leader: members[0].ID, Resharding: true}, true},
		"of no leader":        {JobReport{Resharding: true}, true},
		"of a foreign leader": {JobReport{Leader: members[1].ID, Resharding: true}, false},
	} {
		r := newRoster("/jobs")
		_, reading := r.look("j", nil)
		tt.report.Members = members
		r.keep("j", reading, &tt.report)
		if report, _ := r.look("j", nil); (report == nil) != tt.again {
			t.Errorf("%s: the cached report is %+v", name, report)
		}
	}
}
