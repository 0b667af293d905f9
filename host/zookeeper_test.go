package host

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/wasmjob/wasmjob/host/internal/layout"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/reason"
	"github.com/wasmjob/wasmjob/host/registry/zk"
	"github.com/wasmjob/wasmjob/host/registry/zk/zktest"
	"github.com/wasmjob/wasmjob/host/trace"
)

// on returns a registry on a ZooKeeper.
func on(t *testing.T, address string, o zk.Options) *zk.Registry {
	t.Helper()
	o.Servers = []string{address}
	reg, err := zk.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := reg.Close(); err != nil {
			t.Error(err)
		}
	})
	return reg
}

// held are guests that run until they are released or ended.
type held struct {
	begun chan job.Call
	ended chan time.Time // receives the time when a guest was ended
	let   chan struct{}
}

func newHeld() *held {
	return &held{begun: make(chan job.Call, 100), ended: make(chan time.Time, 100), let: make(chan struct{})}
}

func (g *held) Run(ctx context.Context, c job.Call) job.Outcome {
	g.begun <- c
	select {
	case <-g.let:
		return job.Outcome{Verdict: job.OK}
	case <-ctx.Done():
		g.ended <- time.Now()
		return job.Outcome{Verdict: job.Stopped}
	}
}

func (g *held) await(n int) []job.Call {
	var calls []job.Call
	for range n {
		calls = append(calls, <-g.begun)
	}
	return calls
}

func ask(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// A server that starts before ZooKeeper says so, is not ready, and joins as soon as ZooKeeper
// is there.
func TestServiceComesLate(t *testing.T) {
	t.Parallel()
	service := zktest.Start(t, zktest.Debian(t), zktest.Options{})
	service.Kill()
	h, stop := start(t, Options{
		Registry: on(t, service.Address(), zk.Options{SessionTimeout: 10 * time.Second}), Runner: Func(fine),
		Jobs: []job.Config{{Name: "late", Shards: 2}},
	})
	until(t, h, "it says what is missing", func(all []job.Status) bool {
		return len(all[0].Troubles) == 1 && all[0].Troubles[0].Code == reason.SessionUnopened
	})
	var e *Error
	if err := h.Healthy(); !errors.As(err, &e) || e.Code != Unavailable || len(e.Reasons) != 1 || e.Reasons[0].Code != reason.SessionUnopened {
		t.Errorf("healthy: %v", err)
	}
	select {
	case <-h.Ready():
		t.Error("ready without a registry")
	default:
	}
	service.Restart()
	<-h.Ready()
	if err := errors.Join(h.Healthy(), stop()); err != nil {
		t.Error(err)
	}
}

// ZooKeeper restarts while items run. The session and the runs go on.
func TestServiceRestarts(t *testing.T) {
	t.Parallel()
	service := zktest.Start(t, zktest.Debian(t), zktest.Options{Tick: 3 * time.Second})
	guests, rows := newHeld(), &pile{}
	h, stop := start(t, Options{
		Registry: on(t, service.Address(), zk.Options{SessionTimeout: time.Minute}), Runner: guests,
		Jobs: []job.Config{{Name: "on", Shards: 4, MonitorExecution: true, Failover: true}}, Sinks: []trace.Sink{rows},
	})
	<-h.Ready()
	until(t, h, "it has joined", func(all []job.Status) bool { return all[0].Instance != "" })
	before := h.Jobs()[0].Instance
	ask(t, h.Trigger(t.Context(), "on"))
	guests.await(4)
	service.Restart()
	until(t, h, "the connection is back", func(all []job.Status) bool { return h.Healthy() == nil && len(all[0].Troubles) == 0 })
	close(guests.let)
	until(t, h, "all runs have their rows", func([]job.Status) bool { return rows.count("on", trace.Succeeded) == 4 })
	if len(guests.begun) != 0 || h.Jobs()[0].Instance != before {
		t.Errorf("%d more guests; instance %s, before %s", len(guests.begun), h.Jobs()[0].Instance, before)
	}
	ask(t, h.Trigger(t.Context(), "on"))
	for _, c := range guests.await(4) {
		if c.Attempt != 1 {
			t.Errorf("attempt %d of item %d", c.Attempt, c.Item)
		}
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
}

// The connection hangs longer than the session lasts. Guests are ended before another member
// can take their items, and a new member goes on.
func TestSessionExpires(t *testing.T) {
	t.Parallel()
	const timeout = 4 * time.Second
	service := zktest.Start(t, zktest.Debian(t), zktest.Options{Tick: timeout / 4})
	proxy := zktest.NewProxy(t, service.Address())
	other := newTool(t, on(t, service.Address(), zk.Options{SessionTimeout: 20 * timeout}))
	defer other.close()
	guests, rows := newHeld(), &pile{}
	h, stop := start(t, Options{
		Registry: on(t, proxy.Address(), zk.Options{SessionTimeout: timeout}), Runner: guests,
		Jobs:  []job.Config{{Name: "on", Shards: 2, MonitorExecution: true, Failover: true}},
		Sinks: []trace.Sink{rows}, Instance: "10.0.0.1@-@1",
	})
	<-h.Ready()
	until(t, h, "items are assigned", total("on", 2))
	ask(t, h.Trigger(t.Context(), "on"))
	calls := guests.await(2)
	frozen := time.Now()
	proxy.Set(zktest.Freeze)
	for range 2 {
		// Three quarters of the session timeout, plus the time to notice. No other member may
		// have begun by then.
		if at := <-guests.ended; at.Sub(frozen) >= timeout {
			t.Errorf("ended after %v", at.Sub(frozen))
		}
	}
	until(t, h, "the session expires", func([]job.Status) bool {
		return !other.read(layout.NewJob(defaultNamespace, "on").Instance("10.0.0.1@-@1")).Exists
	})
	proxy.Set(zktest.Pass)
	again := guests.await(2) // the new member takes the pending runs
	for i, c := range again {
		if c.Instance == calls[0].Instance || c.Attempt != 2 || !slices.ContainsFunc(calls, func(o job.Call) bool { return o.RunID == c.RunID }) {
			t.Errorf("call %d: %s of %s, attempt %d", i, c.RunID, c.Instance, c.Attempt)
		}
	}
	close(guests.let)
	until(t, h, "all runs have their rows", func([]job.Status) bool { return rows.count("on", trace.Succeeded) == 2 })
	if err := stop(); err != nil {
		t.Error(err)
	}
}

// A damaged or forbidden node troubles only its job. The trouble names the path, and the job
// goes on once the node is repaired.
func TestDamagedJobs(t *testing.T) {
	t.Parallel()
	service := zktest.Start(t, zktest.Debian(t), zktest.Options{})
	long := zk.Options{SessionTimeout: 10 * time.Second}
	operator := newTool(t, on(t, service.Address(), long))
	defer operator.close()
	owner := newTool(t, on(t, service.Address(), zk.Options{SessionTimeout: 10 * time.Second, Digest: "owner:secret"}))
	defer owner.close()
	operator.set("/n", "")
	cases := []struct {
		name   string
		damage map[string]string // by the path below the job
		by     *tool
		names  string // path that the trouble names
		joins  bool   // the server joins anyway
	}{
		{name: "orphan", damage: map[string]string{"/instances": "", "/instances" + "/10.0.0.9@-@1": ""}, names: "/instances" + "/10.0.0.9@-@1", joins: true},
		{name: "config", damage: map[string]string{"/config": "jobName: yaml"}, names: "/config"},
		{name: "giant", damage: map[string]string{"/config": strings.Repeat("x", 900<<10)}, names: "/config"},
		{name: "item", damage: map[string]string{"/sharding": "", "/sharding" + "/abc": ""}, names: "/sharding" + "/abc", joins: true},
		{name: "denied", damage: map[string]string{"/config": "{}"}, by: owner, names: "/n/denied"},
	}
	o := Options{Namespace: "n", Registry: on(t, service.Address(), long), Runner: Func(fine), Jobs: []job.Config{{Name: "sound", Shards: 1}}}
	for _, c := range cases {
		by := c.by
		if by == nil {
			by = operator
		}
		by.set("/n/"+c.name, "")
		for _, path := range sortedKeys(c.damage) {
			by.set("/n/"+c.name+path, c.damage[path])
		}
		o.Jobs = append(o.Jobs, job.Config{Name: c.name, Shards: 1})
	}
	h, stop := start(t, o)
	until(t, h, "the sound job has joined", joined("sound", 1))
	for _, c := range cases {
		until(t, h, c.name+" is in trouble", func(all []job.Status) bool {
			return slices.ContainsFunc(all, func(s job.Status) bool {
				return s.Config.Name == c.name && strings.Contains(reason.Words(s.Troubles, "; "), c.names) && (s.Instance != "") == c.joins
			})
		})
	}
	if err := h.Healthy(); err != nil {
		t.Errorf("one job's trouble is all jobs': %v", err)
	}
	for _, c := range cases {
		by, paths := c.by, sortedKeys(c.damage)
		if by == nil {
			by = operator
		}
		slices.Reverse(paths)
		if c.joins {
			by.remove("/n/" + c.name + paths[0]) // the other nodes are in use
			continue
		}
		// In one transaction, so that no server joins between two deletions and the job is
		// removed under it.
		nodes := []string{}
		for _, path := range append(paths, "") {
			nodes = append(nodes, "/n/"+c.name+path)
		}
		by.commit(deletions(nodes)...)
	}
	for _, c := range cases {
		until(t, h, c.name+" goes on", func(all []job.Status) bool {
			return slices.ContainsFunc(all, func(s job.Status) bool {
				return s.Config.Name == c.name && len(s.Troubles) == 0 && s.Instance != "" && len(s.Items) == 1 && s.Items[0].Owner == s.Instance
			})
		})
	}
	ask(t, stop())
}

func sortedKeys(m map[string]string) []string { return slices.Sorted(maps.Keys(m)) }
