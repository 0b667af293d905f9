package shadow

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/internal/clock"
	"github.com/wasmjob/wasmjob/host/internal/javatest"
	"github.com/wasmjob/wasmjob/host/internal/layout/v21"
	"github.com/wasmjob/wasmjob/host/internal/schedule"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/registry"
	"github.com/wasmjob/wasmjob/host/registry/embedded"
	"github.com/wasmjob/wasmjob/host/registry/zk"
	"github.com/wasmjob/wasmjob/host/registry/zk/zktest"
)

// record keeps the events and the log of a shadow.
type record struct {
	mu     sync.Mutex // guards what follows
	events []host.Event
	log    strings.Builder
	news   chan host.Event // as long as there is room
}

func (k *record) event(e host.Event) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.events = append(k.events, e)
	select {
	case k.news <- e:
	default:
	}
}

func (k *record) Write(p []byte) (int, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.log.Write(p)
}

// all returns the events since the last take.
func (k *record) all() []host.Event {
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.Clone(k.events)
}

// take returns the items by instant since the last call, and the log.
func (k *record) take() (items map[int64][]int, log string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	items = map[int64][]int{}
	for _, e := range k.events {
		if at := e.Scheduled.Unix(); e.Kind == Would {
			items[at] = append(items[at], e.Item)
		}
	}
	log = k.log.String()
	k.events = nil
	k.log.Reset()
	return items, log
}

// open opens a session on the registry of a test.
func open(t *testing.T, r registry.Registry) registry.Session {
	t.Helper()
	s, err := r.Open(t.Context(), func(registry.Event) {})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// shadow starts one on a registry; it ends with the test.
func shadow(t *testing.T, r registry.Registry, jobs []job.Config) *record {
	t.Helper()
	k := &record{news: make(chan host.Event, 1000)}
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan error, 1)
	go func() {
		done <- Run(ctx, host.Options{
			Registry: r, Namespace: "jobs", Jobs: jobs, Instance: "10.0.0.2@-@7", Observe: k.event, Log: slog.New(slog.NewTextHandler(k, nil)),
		})
	}()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return k
}

func TestShadow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := embedded.Memory()
		t.Cleanup(func() { _ = r.Close() }) // runs last; nothing to lose, it was in memory
		o := open(t, r)
		javatest.Write(t, o, javatest.Config(func(c *v21.Config) { c.ShardingTotalCount = 3 }))
		for _, path := range []string{javatest.Node("sharding", "2"), javatest.Node("sharding", "2", "instance")} {
			javatest.Put(t, o, registry.Create, path, "")
		}
		javatest.Put(t, o, registry.Set, javatest.Node("sharding", "2", "instance"), javatest.Member)
		k := shadow(t, r, javatest.File(func(j *job.Config) { j.Shards = 3 }))
		after := func(what string, want []int, says string) { // a minute, in which the job fires once
			t.Helper()
			time.Sleep(time.Minute)
			synctest.Wait()
			items, log := k.take()
			var got []int
			for at := range items {
				got = append(got, items[at]...)
			}
			if !slices.Equal(got, want) || len(items) > 1 || !strings.Contains(log, says) {
				t.Errorf("%s: items %v, want %v; log wants %q:\n%s", what, items, want, says, log)
			}
		}
		// 10.0.0.2 comes before 10.0.0.1: items descend.
		after("beside one member", []int{0, 2}, "the job would run here")
		for _, item := range []string{"0", "1"} { // 0 would be the shadow's, 1 would not
			javatest.Put(t, o, registry.CreateEphemeral, javatest.Node("sharding", item, "running"), "")
			javatest.Put(t, o, registry.Delete, javatest.Node("sharding", item, "running"), "")
		}
		synctest.Wait()
		if all := k.all(); len(all) != 1 || all[0].Kind != Began || all[0].Item != 0 || all[0].Instance != javatest.Member {
			t.Errorf("began: %+v", all)
		}
		javatest.Put(t, o, registry.Create, javatest.Node("sharding", "2", "disabled"), "")
		after("an item is disabled", []int{0}, "")
		javatest.Put(t, o, registry.CreateEphemeral, javatest.Node("instances", "10.0.0.3@-@1"), "")
		after("another member, before a reshard", []int{1}, "assigned the items otherwise")
		javatest.Put(t, o, registry.Delete, javatest.Node("instances", "10.0.0.3@-@1"), "")
		javatest.Put(t, o, registry.Create, javatest.Node("servers", "10.0.0.2"), "DISABLED")
		after("this server is disabled", nil, "this server is disabled")
		javatest.Put(t, o, registry.Delete, javatest.Node("servers", "10.0.0.2"), "")
		javatest.Put(t, o, registry.Set, javatest.Node("config"), "cron: x\n")
		after("a configuration that cannot be read", nil, "layout 3")
		javatest.Put(t, o, registry.Set, javatest.Node("config"), javatest.Config(func(c *v21.Config) { c.JobClass = "com.acme.Other" }))
		after("another class", nil, "com.acme.Other")
		javatest.Put(t, o, registry.Set, javatest.Node("config"), javatest.Config(func(c *v21.Config) { c.JobShardingStrategyClass = "com.acme.Mine" }))
		after("a strategy of theirs", nil, "com.acme.Mine")
		javatest.Put(t, o, registry.Set, javatest.Node("config"), javatest.Config(func(c *v21.Config) { c.Cron = "30 * * * * ?" }))
		after("another cron", []int{0}, "the job would run here")
	})
}

// A run of a member whose clock is a little ahead counts for the instant to come.
func TestShadowOfAnEarlyMember(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := embedded.Memory()
		t.Cleanup(func() { _ = r.Close() }) // runs last; nothing to lose, it was in memory
		o := open(t, r)
		javatest.Write(t, o, javatest.Config(nil))
		k := shadow(t, r, javatest.File(nil))
		time.Sleep(time.Until(time.Now().Truncate(time.Minute).Add(time.Minute + time.Second)))
		synctest.Wait()
		k.take()
		next := time.Now().Truncate(time.Minute).Add(time.Minute)
		for _, c := range []struct{ before, belongs time.Duration }{
			{2 * time.Second, -time.Minute},
			{20 * time.Millisecond, 0},
		} {
			time.Sleep(time.Until(next.Add(-c.before)))
			javatest.Put(t, o, registry.CreateEphemeral, javatest.Node("sharding", "0", "running"), "")
			javatest.Put(t, o, registry.Delete, javatest.Node("sharding", "0", "running"), "")
			time.Sleep(c.before / 2)
			synctest.Wait()
			began := func() (all []host.Event) {
				for _, e := range k.all() {
					if e.Kind == Began {
						all = append(all, e)
					}
				}
				return all
			}
			if c.belongs == 0 && len(began()) > 0 {
				t.Errorf("%s before: reported too early: %+v", c.before, k.all())
			}
			if c.belongs == 0 {
				time.Sleep(time.Until(next.Add(time.Second)))
				synctest.Wait()
			}
			if all := began(); len(all) != 1 || !all[0].Scheduled.Equal(next.Add(c.belongs)) || all[0].At.Sub(next) != -c.before {
				t.Errorf("%s before %s: %+v", c.before, next, all)
			}
			k.take()
		}
	})
}

// A sighting is not matched to an older instant while a newer one is unreported.
func TestShadowReportsTheInstantFirst(t *testing.T) {
	t.Parallel()
	s := &shadowJob{
		o: &host.Options{Observe: func(e host.Event) { t.Errorf("reported: %+v", e) }}, clock: clock.New(schedule.NewTicker(1), "j"),
		due: []int64{60_000}, wouldRun: []host.Event{{Kind: Would}}, sightings: []sighting{{at: time.UnixMilli(60_001)}},
	}
	if s.matchSightings(); len(s.sightings) != 1 {
		t.Error("the sighting is lost")
	}
}

// Beside a member of ElasticJob on a real ZooKeeper, a shadow writes nothing but its
// sessions, and goes on after ZooKeeper was down.
func TestShadowWritesNothing(t *testing.T) {
	t.Parallel()
	service := zktest.Start(t, zktest.Debian(t), zktest.Options{})
	whole, err := zk.New(zk.Options{Servers: []string{service.Address()}, SessionTimeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = whole.Close() }) // it returns none
	o := open(t, whole)
	javatest.Write(t, o, javatest.Config(func(c *v21.Config) { c.Cron = "* * * * * ?" }))
	mark, err := o.Commit(t.Context(), registry.Op{Kind: registry.Set, Path: "/jobs", Version: registry.AnyVersion})
	if err != nil {
		t.Fatal(err)
	}
	r, err := zk.New(zk.Options{Servers: []string{service.Address()}, ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() }) // it returns none
	k := shadow(t, r, javatest.File(nil))
	<-k.news
	service.Kill()
	service.Restart()
	for again := time.Now(); (<-k.news).Scheduled.Before(again); {
	}
	for _, x := range service.Log() {
		for _, c := range x.Changes {
			if x.Zxid > mark.Revision && c.Kind != zktest.SessionBegun && c.Kind != zktest.SessionEnded && !x.OnlyChecks() {
				t.Errorf("written: %+v", c)
			}
		}
	}
}
