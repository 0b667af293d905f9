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

	"github.com/wasmjob/wasmjob/host/internal/layout"
	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/internal/runner"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/reason"
	"github.com/wasmjob/wasmjob/host/registry/embedded"
)

// chained runs jobs in Go and records their runs. Runs of the job first take a while, and one
// run fails.
type chained struct {
	mu    sync.Mutex
	fails string // the run that fails
	ran   []string
}

func (c *chained) Run(_ context.Context, call job.Call) job.Outcome {
	run := fmt.Sprintf("%s/%d %s", call.Config.Name, call.Item, call.Scheduled.UTC().Format("15:04"))
	if call.Config.Name == "first" {
		<-time.After(time.Duration(call.Item+1) * time.Second)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ran = append(c.ran, run)
	if run == c.fails {
		return job.Outcome{Verdict: job.Failure}
	}
	return job.Outcome{Verdict: job.OK}
}

// of returns the runs of a job so far, sorted.
func (c *chained) of(name string) []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var all []string
	for _, run := range c.ran {
		if strings.HasPrefix(run, name+"/") {
			all = append(all, run)
		}
	}
	slices.Sort(all)
	return all
}

var (
	first  = job.Config{Name: "first", Cron: "0 * * * * ?", Shards: 3}
	second = job.Config{Name: "second", After: []string{"first"}, Shards: 2}
	third  = job.Config{Name: "third", After: []string{"first", "second"}, Shards: 1}
)

// minute returns the n-th minute from now, as runs show it.
func minute(n int) string {
	return time.Now().Truncate(time.Minute).Add(time.Duration(n) * time.Minute).UTC().Format("15:04")
}

func TestJobsRunAfterOthers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reg := embedded.Memory()
		c := &chained{fails: "first/1 " + minute(2)}
		var hosts []*Host
		var stops []func() error
		for _, id := range []job.InstanceID{"10.0.0.1@-@1", "10.0.0.2@-@1"} {
			h, stop := start(t, Options{Registry: reg, Instance: id, Jobs: []job.Config{first, second, third}, Runner: c})
			<-h.Ready()
			hosts, stops = append(hosts, h), append(stops, stop)
		}
		one, two, three := minute(1), minute(2), minute(3)
		time.Sleep(2*time.Minute + 30*time.Second)
		synctest.Wait()
		if got, want := c.of("second"), []string{"second/0 " + one, "second/1 " + one}; !slices.Equal(got, want) {
			t.Errorf("after a run that failed the job has run %q, want %q", got, want)
		}
		for _, h := range hosts {
			if s := h.Jobs()[1]; len(s.Troubles) != 1 || s.Troubles[0].Code != reason.AfterFailed {
				t.Errorf("troubles %v, want one of the run that failed", s.Troubles)
			}
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if got, want := c.of("second"), []string{"second/0 " + one, "second/0 " + three, "second/1 " + one, "second/1 " + three}; !slices.Equal(got, want) {
			t.Errorf("the job has run %q, want %q", got, want)
		}
		if got, want := c.of("third"), []string{"third/0 " + one, "third/0 " + three}; !slices.Equal(got, want) {
			t.Errorf("the job after both has run %q, want %q", got, want)
		}
		if got := c.of("first"); !slices.Contains(got, "first/2 "+two) {
			t.Errorf("the first job has run %q", got)
		}
		for _, s := range hosts[0].Jobs() {
			if len(s.Troubles) > 0 {
				t.Errorf("%s: troubles %v", s.Config.Name, s.Troubles)
			}
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

// If an instant ends well while no server of the next job is there, it waits for one, even if
// the members that recorded it have gone.
func TestJobsRunAfterOthersLater(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reg := embedded.Memory()
		c := &chained{}
		run := func(id job.InstanceID, jobs ...job.Config) func() {
			h, stop := start(t, Options{Registry: reg, Instance: id, Jobs: jobs, Runner: c})
			<-h.Ready()
			return func() {
				if err := stop(); err != nil {
					t.Error(err)
				}
			}
		}
		stopFirst, stopSecond := run("10.0.0.1@-@1", first), run("10.0.0.2@-@1", second)
		one, two, three := minute(1), minute(2), minute(3)
		time.Sleep(time.Minute + 30*time.Second)
		stopSecond()
		time.Sleep(2 * time.Minute)
		stopFirst()
		defer run("10.0.0.2@-@1", second)()
		time.Sleep(time.Second)
		synctest.Wait()
		want := []string{"second/0 " + one, "second/0 " + two, "second/0 " + three, "second/1 " + one, "second/1 " + two, "second/1 " + three}
		if got := c.of("second"); !slices.Equal(got, want) {
			t.Errorf("the job has run %q, want %q", got, want)
		}
	})
}

// A job waits for a job that does not exist, and says so.
func TestJobsRunAfterOthersThatAreNotThere(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h, stop := start(t, Options{Registry: embedded.Memory(), Jobs: []job.Config{second}, Runner: &chained{}})
		<-h.Ready()
		time.Sleep(time.Second)
		synctest.Wait()
		if s := h.Jobs()[0]; len(s.Troubles) != 1 || s.Troubles[0].Code != reason.AfterGone {
			t.Errorf("troubles %v, want that the job is not there", s.Troubles)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

// A job of this server's file that has yet to join is no trouble of the job after it; one that
// has been removed is.
func TestJobsBeforeThatHaveYetToJoin(t *testing.T) {
	t.Parallel()
	gone, there := new(protocol.View), &protocol.View{Config: &protocol.Config{}}
	for _, c := range []struct {
		file  layout.Layout
		views []*protocol.View
		want  bool // that the job is not there
	}{
		{nil, []*protocol.View{gone}, true},
		{layout.NewJob("jobs", "first"), []*protocol.View{gone}, false},
		{layout.NewJob("jobs", "first"), []*protocol.View{gone, there}, false},
		{layout.NewJob("jobs", "first"), []*protocol.View{gone, there, gone}, true},
	} {
		var got runner.Precedence
		p := &preceding{notify: func(now runner.Precedence) { got = now }}
		j := &predecessor{of: p, name: "first", named: func() layout.Layout { return c.file }}
		p.jobs = []*predecessor{j}
		for _, v := range c.views {
			j.show(v, nil)
		}
		if is := len(got.Why) == 1 && got.Why[0].Code == reason.AfterGone; is != c.want || len(got.Why) > 1 {
			t.Errorf("file %v, %d views: %v, want that the job is not there: %t", c.file, len(c.views), got.Why, c.want)
		}
	}
}

// A job before whose configuration cannot be read is there, and hinders the job after it from the first view on.
func TestJobsBeforeThatCannotBeRead(t *testing.T) {
	t.Parallel()
	for _, file := range []layout.Layout{nil, layout.NewJob("jobs", "first")} {
		var got runner.Precedence
		p := &preceding{notify: func(now runner.Precedence) { got = now }}
		j := &predecessor{of: p, name: "first", named: func() layout.Layout { return file }}
		p.jobs = []*predecessor{j}
		j.show(&protocol.View{ConfigFault: "it is damaged"}, nil)
		if want := []reason.Reason{reason.Of(reason.AfterUnread, `"first"`, "it is damaged")}; !slices.Equal(got.Why, want) {
			t.Errorf("file %v: %v, want %v", file, got.Why, want)
		}
	}
}

// A running job follows changes of after.
func TestJobsRunAfterOthersFromNowOn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := &chained{}
		alone := second
		alone.After, alone.Overwrite = nil, true
		h, stop := start(t, Options{Registry: embedded.Memory(), Jobs: []job.Config{first, alone}, Runner: c})
		<-h.Ready()
		after := alone
		after.After = second.After
		one := minute(1)
		for n, now := range []job.Config{after, alone} {
			if err := h.Put(t.Context(), now); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Minute + 30*time.Second)
			synctest.Wait()
			if got, want := c.of("second"), []string{"second/0 " + one, "second/1 " + one}; !slices.Equal(got, want) {
				t.Errorf("after %d changes the job has run %q, want %q", n+1, got, want)
			}
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

// A server that finds a job in the registry knows the job before it only by its nodes, which
// may be of another layout or hold a definition that this release cannot read.
func TestJobsRunAfterOthersThatAreFound(t *testing.T) {
	t.Parallel()
	other := first
	other.Layout = job.Layout3
	for what, before := range map[string]job.Config{"layout 2.1": first, "layout 3": other} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				reg, c := embedded.Memory(), &chained{}
				_, stop := start(t, Options{Registry: reg, Instance: "10.0.0.1@-@1", Jobs: []job.Config{before, second}, Runner: c})
				time.Sleep(10 * time.Second)
				if err := stop(); err != nil {
					t.Error(err)
				}
				_, stop = start(t, Options{Registry: reg, Instance: "10.0.0.2@-@1", Discover: true, Runner: c})
				time.Sleep(time.Minute)
				synctest.Wait()
				if got := c.of("second"); len(got) != second.Shards {
					t.Errorf("the job has run %q", got)
				}
				if err := stop(); err != nil {
					t.Error(err)
				}
				o := newTool(t, reg)
				_, module, _ := layout.NewJob(defaultNamespace, "first").Nodes()
				o.set(module, `{"v":1,"newer":1}`)
				o.close()
				h, stop := start(t, Options{Registry: reg, Instance: "10.0.0.3@-@1", Discover: true, Runner: c})
				time.Sleep(time.Minute)
				synctest.Wait()
				if got := c.of("second"); len(h.Jobs()) == 0 || len(got) != second.Shards {
					t.Errorf("the job has run %q, of %d jobs", got, len(h.Jobs()))
				}
				if err := stop(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}
