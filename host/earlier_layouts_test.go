package host

import (
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/wasmjob/wasmjob/host/internal/layout"
	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/job/recorded"
	"github.com/wasmjob/wasmjob/host/reason"
	"github.com/wasmjob/wasmjob/host/registry"
	"github.com/wasmjob/wasmjob/host/registry/embedded"
	"github.com/wasmjob/wasmjob/host/registry/zk"
	"github.com/wasmjob/wasmjob/host/registry/zk/zktest"
	"github.com/wasmjob/wasmjob/host/trace"
)

// earlierJob is a job of layout 1 or 2.0 as a console of ElasticJob sees it.
type earlierJob struct {
	t       *testing.T
	address string // of ZooKeeper
	console *tool
	of      string // its layout
	layout.Layout
}

// inEarlierLayouts calls test with a job of each layout that identifies members by address.
func inEarlierLayouts(t *testing.T, test func(e *earlierJob)) {
	t.Parallel()
	for _, of := range []string{job.Layout1, job.Layout20} {
		t.Run("layout "+of, func(t *testing.T) {
			t.Parallel()
			test(newEarlierJob(t, of))
		})
	}
}

func newEarlierJob(t *testing.T, of string) *earlierJob {
	t.Helper()
	service := zktest.Start(t, zktest.Debian(t), zktest.Options{})
	e := &earlierJob{t, service.Address(), newTool(t, on(t, service.Address(), zk.Options{SessionTimeout: time.Minute})), of, layout.New(of, "n", "old")}
	t.Cleanup(e.console.close)
	return e
}

// member starts a server of ours at an address.
func (e *earlierJob) member(ip string) (*Host, *pile, func() error) {
	e.t.Helper()
	rows := &pile{}
	h, stop := start(e.t, Options{
		Namespace: "n", Registry: on(e.t, e.address, zk.Options{SessionTimeout: time.Minute}), Runner: Func(fine),
		Jobs:  []job.Config{{Name: "old", Shards: 3, Layout: e.of, MonitorExecution: true, Failover: true}},
		Sinks: []trace.Sink{rows}, Instance: job.NewInstanceID(ip, "1"),
	})
	return h, rows, stop
}

func (e *earlierJob) at(node ...string) string { return e.Root() + "/" + strings.Join(node, "/") }

// value returns the value of a node, or "none" if the node is missing.
func (e *earlierJob) value(node ...string) string {
	n := e.console.read(e.at(node...))
	if !n.Exists {
		return "none"
	}
	return string(n.Data)
}

// lists reports whether two servers have these items and no reshard is due.
func (e *earlierJob) lists(one, two string) func([]job.Status) bool {
	return func([]job.Status) bool {
		return e.value("servers", "10.0.0.1", "sharding") == one && e.value("servers", "10.0.0.2", "sharding") == two && e.value("leader", "sharding", "necessary") == "none"
	}
}

// Servers share a job of layout 1 or 2.0. Members of ElasticJob could use its nodes as their
// own, and servers obey what an ElasticJob console writes.
func TestServersShareAJobOfAnEarlierLayout(t *testing.T) {
	inEarlierLayouts(t, func(e *earlierJob) {
		t := e.t
		first, rows, stopFirst := e.member("10.0.0.1")
		until(t, first, "it has all items", e.lists("0,1,2", "none"))
		second, more, stopSecond := e.member("10.0.0.2")
		until(t, second, "each has its items", e.lists("0,2", "1"))
		if l, err := layout.Found("n", "old", func(paths []string) (all []registry.Node, err error) {
			for _, p := range paths {
				all = append(all, e.console.read(p))
			}
			return all, nil
		}); err != nil || l != e.Layout {
			t.Errorf("the tree shows %v, %v", l, err)
		}

		for _, ip := range []string{"10.0.0.1", "10.0.0.2"} {
			e.console.set(e.at("servers", ip, "trigger"), "")
		}
		until(t, first, "what was asked for has run", func([]job.Status) bool {
			return rows.count("old", trace.Succeeded)+more.count("old", trace.Succeeded) == 3
		})
		for _, mark := range []string{"completed", "lastBeginTime", "lastCompleteTime"} {
			until(t, first, mark+" is there", func([]job.Status) bool { return e.value("execution", "0", mark) != "none" })
		}
		if got := e.value("servers", "10.0.0.1", "trigger") + e.value("execution", "0", "running") + e.value("execution", "0", "nextFireTime") + e.value("instances"); got != "nonenonenonenone" {
			t.Errorf("a request, a mark, an instant without a schedule or another layout's node is there: %q", got)
		}
		form, err := layout.FormOf(e.Layout, func(path string) (registry.Node, error) { return e.console.read(path), nil })
		if err != nil || form.Unreadable != nil || e.value("leader", "election", "host") != "10.0.0.1" || len(form.Older) != 2 || form.Older[1].Status != "READY" {
			t.Errorf("for members of ElasticJob it is %+v, %v", form, err)
		}

		e.console.set(e.at("servers", "10.0.0.2", "paused"), "")
		if e.of == job.Layout20 { // as among members of ElasticJob 2.0.5
			e.console.set(e.at("servers", "10.0.0.2", "trigger"), "")
			until(t, second, "a paused server declines what is asked for", func([]job.Status) bool { return more.count("old", trace.Skipped) == 1 })
			if !e.lists("0,2", "1")(nil) {
				t.Error("the items of a paused server have moved")
			}
		} else {
			until(t, first, "a paused server has no items", e.lists("0,1,2", ""))
		}
		e.console.remove(e.at("servers", "10.0.0.2", "paused"))
		until(t, first, "each has its items again", e.lists("0,2", "1"))
		ask(t, stopSecond())
		ask(t, stopFirst())
		if got := e.value("servers", "10.0.0.1", "status") + e.value("leader", "election", "host"); got != "nonenone" {
			t.Errorf("who has left is there: %q", got)
		}
	})
}

// An address has one member, so the second server waits until the first has left.
func TestAnAddressHasOneMember(t *testing.T) {
	inEarlierLayouts(t, func(e *earlierJob) {
		t := e.t
		first, _, stopFirst := e.member("10.0.0.1")
		until(t, first, "it has all items", e.lists("0,1,2", "none"))
		second, _, stopSecond := e.member("10.0.0.1")
		until(t, second, "it waits", func(all []job.Status) bool {
			return slices.ContainsFunc(all[0].Troubles, func(why reason.Reason) bool { return why.Code == reason.AddressTaken })
		})
		ask(t, stopFirst())
		until(t, second, "it joins", func(all []job.Status) bool { return all[0].Instance.IP() == "10.0.0.1" && len(all[0].Troubles) == 0 })
		until(t, second, "it has all items", e.lists("0,1,2", "none"))
		ask(t, stopSecond())
	})
}

// A server of ours does not join beside members of ElasticJob, and says so.
func TestAnEarlierJobIsLeftToForeignMembers(t *testing.T) {
	inEarlierLayouts(t, func(e *earlierJob) {
		t := e.t
		h, _, stop := e.member("10.0.0.1")
		until(t, h, "it has all items", e.lists("0,1,2", "none"))
		status := registry.Op{Kind: registry.CreateEphemeral, Path: e.at("servers", "10.0.0.2", "status"), Data: []byte("READY")}
		e.console.commit(registry.Op{Kind: registry.Create, Path: e.at("servers", "10.0.0.2")}, status)
		until(t, h, "it leaves", func(all []job.Status) bool {
			return all[0].Instance == "" && slices.ContainsFunc(all[0].Troubles, func(why reason.Reason) bool { return why.Code == reason.ForeignByAddress })
		})
		e.console.remove(status.Path)
		until(t, h, "it comes back", e.lists("0,1,2", ""))
		ask(t, stop())
	})
}

// Servers of ours take over a job that members of ElasticJob have left, and read its
// configuration where they kept it.
func TestServersGoOnWithAnEarlierJob(t *testing.T) {
	inEarlierLayouts(t, func(e *earlierJob) {
		t := e.t
		tree := recorded.EarlierTree(t, map[string]string{job.Layout1: "ej1", job.Layout20: "ej20"}[e.of]+"/basic.json", "at the end")
		for _, path := range sortedKeys(tree) {
			if last := path[strings.LastIndexByte(path, '/')+1:]; last != "status" && last != "host" { // these vanished with the sessions
				e.console.set(path, tree[path])
			}
		}
		e.Layout = layout.New(e.of, "ns", "job")
		rows := &pile{}
		h, stop := start(t, Options{
			Namespace: "ns", Registry: on(t, e.address, zk.Options{SessionTimeout: time.Minute}), Runner: Func(fine),
			Jobs:  []job.Config{{Name: "job", Class: "recorder.Work", Cron: "0 0 0 1 1 ?", Shards: 1, Layout: e.of, MonitorExecution: true}},
			Sinks: []trace.Sink{rows}, Instance: "10.0.0.1@-@1",
		})
		until(t, h, "it has all items", e.lists("0,1,2,3", ""))
		ask(t, h.Trigger(t.Context(), "job"))
		until(t, h, "they run", func([]job.Status) bool { return rows.count("job", trace.Succeeded) >= 4 })
		if got := e.value("servers", "10.0.0.3", "sharding"); got != "" {
			t.Errorf("what was true of ElasticJob is there: %q", got)
		}
		begun, err := strconv.ParseInt(e.value("execution", "0", "lastBeginTime"), 10, 64)
		if got := e.value("execution", "0", "nextFireTime"); err != nil || got != strconv.FormatInt(begun-begun%10_000+10_000, 10) {
			t.Errorf("after %d it fires next at %s, %v", begun, got, err)
		}
		ask(t, stop())
	})
}

// A server whose file names the wrong one of two layouts neither joins nor writes.
func TestAJobIsOfTheLayoutOfItsTree(t *testing.T) {
	t.Parallel()
	for _, pair := range [][2]string{
		{job.Layout20, job.Layout21}, {job.Layout21, job.Layout20}, {job.Layout1, job.Layout20}, {job.Layout20, job.Layout1}, {job.Layout1, job.Layout21}, {job.Layout21, job.Layout1},
	} {
		is, other := pair[0], pair[1]
		e := newEarlierJob(t, is)
		run := func(layout, ip string) (*Host, func() error) {
			return start(t, Options{
				Namespace: "n", Registry: on(t, e.address, zk.Options{SessionTimeout: time.Minute}), Runner: Func(fine),
				Jobs: []job.Config{{Name: "old", Shards: 2, Layout: layout, MonitorExecution: true}}, Instance: job.NewInstanceID(ip, "1"),
			})
		}
		first, stopFirst := run(is, "10.0.0.1")
		until(t, first, "it has items", func(all []job.Status) bool { return len(all[0].Items) == 2 && all[0].Items[1].Owner != "" })
		second, stopSecond := run(other, "10.0.0.2")
		until(t, second, "it is kept out", func(all []job.Status) bool {
			return all[0].Instance == "" && strings.Contains(reason.Words(all[0].Troubles, "; "), "expected a job of layout "+other)
		})
		if got := first.Jobs()[0]; len(got.Troubles) != 0 || len(got.Instances) != 1 {
			t.Errorf("layout %s beside a file of %s: %+v", is, other, got)
		}
		ask(t, stopSecond())
		ask(t, stopFirst())
	}
}

// A server without a file finds a job of an earlier layout, and obeys a console that writes a
// single key of it.
func TestAServerFindsAJobOfKeys(t *testing.T) {
	t.Parallel()
	reg := embedded.Memory()
	so := server(t, reg, "10.0.0.1", make(chan trace.Row, 100))
	so.Runner = Func(fine)
	h, stop := start(t, so)
	<-h.Ready()
	o, l := newTool(t, reg), layout.New(job.Layout1, "n", "j")
	c := simple("j", strings.Repeat("0", 64))
	c.Layout = job.Layout1
	d, err := l.Spell(protocol.Definition{}, l.Define(c))
	if err != nil {
		t.Fatal(err)
	}
	o.commit(l.Encode(protocol.Setup{Definition: d}, &protocol.View{ByAddress: true})...)
	until(t, h, "it runs here", func(all []job.Status) bool {
		return len(all) == 1 && all[0].Instance != "" && all[0].Config.Layout == job.Layout1
	})
	key := l.At("config") + "/"
	o.set(key+"color", "red")
	o.set(key+"shardingTotalCount", "3")
	until(t, h, "it has more items", func(all []job.Status) bool { return len(all[0].Items) == 3 && all[0].Items[2].Owner != "" })
	o.set(key+"shardingTotalCount", "many")
	until(t, h, "it says why it stops", func(all []job.Status) bool {
		return strings.Contains(reason.Words(all[0].Troubles, "; "), "config/shardingTotalCount: \"many\"")
	})
	o.set(key+"shardingTotalCount", "2")
	until(t, h, "it goes on", func(all []job.Status) bool { return len(all[0].Items) == 2 && len(all[0].Troubles) == 0 })
	ask(t, stop())

	o.set(key+"jobShardingStrategyClass", "best")
	h, stop = start(t, so)
	<-h.Ready()
	until(t, h, "it is kept out", failing("j", "best"))
	o.set(key+"jobShardingStrategyClass", "")
	until(t, h, "it looks again", func(all []job.Status) bool { return all[0].Instance != "" })
	ask(t, stop())
	if got := o.read(key + "color"); string(got.Data) != "red" {
		t.Errorf("a key that nobody knows is %q", got.Data)
	}
	o.close()
}

// A member of ElasticJob that defines a job is leader before it writes the keys one by one, and
// keeps keys that exist. A server of ours writes none of them meanwhile.
func TestAServerWaitsWhileKeysAreWritten(t *testing.T) {
	t.Parallel()
	reg := embedded.Memory()
	o, l := newTool(t, reg), layout.New(job.Layout1, "n", "j")
	o.set("/n", "")
	election := filepath.Join(l.At("leader"), "election")
	for _, path := range []string{l.Root(), l.At("config"), l.At("leader"), election} {
		o.set(path, "")
	}
	leads := registry.Op{Kind: registry.CreateEphemeral, Path: filepath.Join(election, "host"), Data: []byte("10.0.0.9")}
	o.commit(leads)
	keys := map[string]string{"jobType": "SIMPLE", "jobClass": "a.B", "shardingTotalCount": "3", "cron": "0 0 0 1 1 ?", "monitorExecution": "false"}
	for _, key := range sortedKeys(keys) {
		o.set(l.At("config")+"/"+key, keys[key])
	}
	h, stop := start(t, Options{
		Namespace: "n", Registry: reg, Runner: Func(fine), Instance: "10.0.0.5@-@1",
		Jobs: []job.Config{{Name: "j", Class: "a.B", Cron: "0 0 0 1 1 ?", Shards: 3, Layout: job.Layout1, MonitorExecution: true, Misfire: true, Unsaid: []string{"misfire", "monitor_execution"}}},
	})
	until(t, h, "it waits", func(all []job.Status) bool {
		return slices.ContainsFunc(all[0].Troubles, func(why reason.Reason) bool { return why.Code == reason.ForeignByAddress })
	})
	o.remove(leads.Path)
	until(t, h, "it has all items", func(all []job.Status) bool { return len(all[0].Items) == 3 && all[0].Items[2].Owner != "" })
	ask(t, stop())
	if got := o.read(l.At("config")).Children; len(got) != len(keys) {
		t.Errorf("it has the keys %q", got)
	}
	o.close()
}

// A job of 1.0.6 has no type, which no server of ours adds, and a stopped server of it lacks
// the mark of later releases.
func TestServersGoOnWithAJobWithoutAType(t *testing.T) {
	t.Parallel()
	reg := embedded.Memory()
	o, l := newTool(t, reg), layout.New(job.Layout1, "n", "j")
	tree := recorded.AtRest(t, recorded.Earlier(t, "ej10/stop.json"), "at the end")
	o.set("/n", "")
	for _, name := range sortedKeys(tree) {
		o.set(filepath.Join(l.Root(), name), tree[name])
	}
	rows := &pile{}
	h, stop := start(t, Options{
		Namespace: "n", Registry: reg, Runner: Func(fine), Sinks: []trace.Sink{rows}, Instance: "10.0.0.5@-@1",
		Jobs: []job.Config{{Name: "j", Kind: job.Dataflow, Class: "recorder.Work", Cron: "0 0 0 1 1 ?", Layout: job.Layout1, MonitorExecution: true, Unsaid: []string{"shards"}, Shards: 1}},
	})
	until(t, h, "it has all items", func(all []job.Status) bool { return len(all[0].Items) == 4 && all[0].Items[3].Owner != "" })
	ask(t, h.Trigger(t.Context(), "j"))
	until(t, h, "they run", func([]job.Status) bool { return rows.count("j", trace.Succeeded) >= 4 })
	if n := o.read(filepath.Join(l.At("config"), "jobType")); n.Exists {
		t.Errorf("it has the type %q", n.Data)
	}
	if got := o.read(filepath.Join(filepath.Dir(l.Instance("10.0.0.1@-@1")), "sharding")); string(got.Data) != "" {
		t.Errorf("a stopped server has the items %q", got.Data)
	}
	ask(t, stop())
	o.close()
}
