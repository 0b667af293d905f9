package operator

import (
	"encoding/json"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/internal/javatest"
	"github.com/wasmjob/wasmjob/host/internal/layout/v21"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/job/recorded"
	"github.com/wasmjob/wasmjob/host/reason"
	"github.com/wasmjob/wasmjob/host/registry"
	"github.com/wasmjob/wasmjob/host/registry/embedded"
	"github.com/wasmjob/wasmjob/host/registry/zk"
	"github.com/wasmjob/wasmjob/host/registry/zk/zktest"
)

// passing is a registry that is closed when the test ends.
func passing(t *testing.T) registry.Registry {
	t.Helper()
	r := embedded.Memory()
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

func TestCheckups(t *testing.T) {
	t.Parallel()
	fits := javatest.File(nil)
	type extra struct{ path, data string }
	for _, c := range []struct {
		name   string
		config string // "": one that fits
		jobs   []job.Config
		nodes  []extra
		breaks []string // a part of each line, in order
		needs  []string
		notes  []string
	}{
		{name: "it fits", jobs: fits},
		{name: "no file", needs: []string{`class = "com.acme.OrderJob", kind = "simple"`}},
		{name: "no file for a dataflow", config: javatest.Config(func(c *v21.Config) { c.JobType = v21.Dataflow }), needs: []string{`kind = "dataflow"`}},
		{
			name: "another class", jobs: javatest.File(func(j *job.Config) { j.Class = "com.acme.Other" }),
			breaks: []string{`in the registry is "com.acme.OrderJob", in this server's file "com.acme.Other": write class = "com.acme.OrderJob"`},
		},
		{
			name: "no class", jobs: javatest.File(func(j *job.Config) { j.Class = "" }),
			breaks: []string{`this server's file names none: write class = "com.acme.OrderJob"`},
		},
		{
			name: "a script", config: javatest.Config(func(c *v21.Config) { c.JobType, c.ScriptCommandLine = v21.Script, "/bin/orders" }), jobs: fits,
			breaks: []string{"the registry has it as a job of type SCRIPT, this server's file as one of kind simple"}, notes: []string{"jobType"},
		},
		{name: "no zone", jobs: javatest.File(func(j *job.Config) { j.TimeZone = "" }), breaks: []string{"it has no timezone"}},
		{
			name: "not monitored", config: javatest.Config(func(c *v21.Config) { c.MonitorExecution = false }), jobs: javatest.File(func(j *job.Config) { j.MonitorExecution = false }),
			breaks: []string{"monitorExecution is off"},
		},
		{
			name: "a strategy of theirs", config: javatest.Config(func(c *v21.Config) { c.JobShardingStrategyClass = "com.acme.Mine" }),
			needs: []string{"[jobs.orders]"}, notes: []string{`its strategy "com.acme.Mine" is not known to this server`},
		},
		{
			name: "a strategy of ours", jobs: javatest.File(func(j *job.Config) { j.StrategyModule = "weighted" }),
			notes: []string{`members of ElasticJob do not know the strategy module "weighted"`},
		},
		{
			name: "a cron that is none", config: javatest.Config(func(c *v21.Config) { c.Cron = "0 61 * * * ?" }), jobs: fits,
			breaks: []string{"cron: "}, notes: []string{"cron"},
		},
		{name: "another cron", config: javatest.Config(func(c *v21.Config) { c.Cron = "0 0 * * * ?" }), jobs: fits, notes: []string{`the value of the registry applies: cron: the registry has "0 0 * * * ?"`}},
		{name: "an unknown type", config: strings.Replace(javatest.Config(nil), "SIMPLE", "WASM", 1), jobs: fits, breaks: []string{`"WASM" is none of SIMPLE, DATAFLOW, SCRIPT`}},
		{
			name: "an unknown property", config: strings.Replace(javatest.Config(nil), `"jobProperties":{`, `"jobProperties":{"mine":"x",`, 1), jobs: fits,
			breaks: []string{"mine"},
		},
		{
			name: "layout 3", config: "cron: 0 * * * * ?\njobName: orders\nmisfire: true\nmonitorExecution: true\nreconcileIntervalMinutes: 10\nshardingTotalCount: 2\n", jobs: fits,
			breaks: []string{`a job of layout 3, in this server's file one of layout 2.1: write layout = "3"`, "the registry names no class for it"},
		},
		{
			name: "a key of layout 1", jobs: fits, nodes: []extra{{javatest.Node("config", "cron"), "0 * * * * ?"}},
			breaks: []string{javatest.Node("config") + ": its keys are nodes, as in layout 1; expected a job of layout 2.1"},
		},
		{name: "text that is nothing", config: "?", jobs: fits, breaks: []string{javatest.Node("config") + ": expected the JSON of layout 2.1"}},
		{
			name: "failover", config: javatest.Config(func(c *v21.Config) { c.Failover = true }), jobs: javatest.File(func(j *job.Config) { j.Failover = true }),
			notes: []string{"failover is on", "take 10.0.0.10 and 10.0.0.1 for the same server"},
		},
		{name: "a ghost", jobs: fits, nodes: []extra{{javatest.Node("instances", "10.0.0.2@-@1"), ""}}, breaks: []string{javatest.Node("instances", "10.0.0.2@-@1") + ": no session holds it"}},
		{
			name: "a stray place in a queue", jobs: fits,
			nodes:  []extra{{javatest.Node("leader", "election", "latch"), ""}, {javatest.Node("leader", "election", "latch", "_c_stray-latch-0000000000"), ""}},
			breaks: []string{javatest.Node("leader", "election", "latch", "_c_stray-latch-0000000000") + ": no session holds it, so it never leaves the queue"},
		},
		{name: "an orphaned mark", jobs: fits, nodes: []extra{{javatest.Node("sharding", "1", "running"), ""}}, breaks: []string{javatest.Node("sharding", "1", "running") + ": no session holds it"}},
		{name: "a listener of fires", jobs: fits, nodes: []extra{{javatest.Node("guarantee"), ""}}, notes: []string{"runs once for all"}},
		{name: "damaged records", jobs: fits, nodes: []extra{{javatest.Node("wasm"), ""}, {javatest.Node("wasm", "assignment"), "{"}}, breaks: []string{javatest.Node("wasm", "assignment") + ": expected an assignment"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			o := operate(t, passing(t))
			if c.config == "" {
				c.config = javatest.Config(nil)
			}
			javatest.Write(t, o.session, c.config)
			for _, n := range c.nodes {
				put(t, o, registry.Create, n.path, n.data)
			}
			all, err := o.Checkups(t.Context(), host.Options{Jobs: c.jobs, Instance: "10.0.0.10@-@7"})
			if err != nil || len(all) != 1 {
				t.Fatalf("%d jobs, %v", len(all), err)
			}
			got := all[0]
			wantLines(t, "breaks", got.Breaks, c.breaks)
			wantLines(t, "needs", got.Needs, c.needs)
			wantLines(t, "notes", got.Notes, c.notes)
			if got.Leader != javatest.Member || got.Members[0].Kind != Java {
				t.Errorf("led by %s, members %v", got.Leader, got.Members)
			}
		})
	}
}

func wantLines(t *testing.T, what string, found []reason.Reason, parts []string) {
	t.Helper()
	var got []string
	for _, r := range found {
		got = append(got, r.String())
	}
	fits := len(got) == len(parts)
	for i := range min(len(got), len(parts)) {
		fits = fits && strings.Contains(got[i], parts[i])
	}
	if !fits {
		t.Errorf("%s:\n%s\nwant:\n%s", what, strings.Join(got, "\n"), strings.Join(parts, "\n"))
	}
}

// A job that is not in the registry yet is no fault. Nodes that are no job are left out; a job
// that lost its configuration is shown.
func TestCheckupsWithoutJob(t *testing.T) {
	t.Parallel()
	o := operate(t, passing(t))
	for _, at := range []string{"/jobs", "/jobs/notes", "/jobs/lost", "/jobs/lost/" + "instances"} {
		put(t, o, registry.Create, at, "")
	}
	all, err := o.Checkups(t.Context(), host.Options{Jobs: javatest.File(nil)})
	if err != nil {
		t.Fatal(err)
	}
	want := []Checkup{
		{Job: "lost", Breaks: []reason.Reason{reason.Of(reason.NoConfig)}},
		{Job: "orders", Named: true, Notes: []reason.Reason{reason.Of(reason.NotInRegistry)}},
	}
	list, err := o.session.Read(t.Context(), "/jobs")
	if err != nil {
		t.Fatal(err)
	}
	for i := range all {
		if all[i].Job == "orders" && all[i].Newest != list.Stat.ChildrenChanged {
			t.Errorf("what is not there has come to %d, want %d", all[i].Newest, list.Stat.ChildrenChanged)
		}
		all[i].Newest = 0
	}
	if diff := cmp.Diff(want, all); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// Without a namespace, the node above shows the revision of the newest change.
func TestCheckupsWithoutNamespace(t *testing.T) {
	t.Parallel()
	r := passing(t)
	o, err := Open(t.Context(), r, "team/jobs")
	if err != nil {
		t.Fatal(err)
	}
	newest := func() int64 {
		t.Helper()
		all, err := o.Checkups(t.Context(), host.Options{Jobs: javatest.File(nil)})
		if err != nil || len(all) != 1 {
			t.Fatalf("%d jobs, %v", len(all), err)
		}
		return all[0].Newest
	}
	if got := newest(); got != 0 {
		t.Errorf("an empty registry has come to %d", got)
	}
	put(t, o, registry.Create, "/team", "")
	put(t, o, registry.Create, "/team/jobs", "")
	put(t, o, registry.Create, "/team/jobs/orders", "")
	mark, err := o.session.Commit(t.Context(), registry.Op{Kind: registry.Set, Path: "/team/jobs/orders", Version: registry.AnyVersion})
	if err != nil {
		t.Fatal(err)
	}
	put(t, o, registry.Delete, "/team/jobs/orders", "")
	if got := newest(); got <= mark.Revision {
		t.Errorf("the job is gone: %d, want more than %d", got, mark.Revision)
	}
	put(t, o, registry.Delete, "/team/jobs", "")
	if got := newest(); got <= mark.Revision+1 {
		t.Errorf("the namespace is gone: %d, want more than %d", got, mark.Revision+1)
	}
}

// Checkups recognise the trees of real members on a real ZooKeeper, and write nothing.
func TestCheckupsOfRecordedJobs(t *testing.T) {
	t.Parallel()
	recordings := []string{
		"ej2/basic", "ej2/disable", "ej2/failover_one_ip", "ej2/misfire", "ej2/once", "ej2/shutdown", "ej2/totals", "ej2/trigger",
		"ej3/basic", "ej3/failover", "ej3/oneoff", "ej3/trigger",
		"ej10/stop", "ej1/basic", "ej1/failover", "ej1/pause", "ej1/disable", "ej1/sequence", "ej20/basic", "ej20/pause", "ej20/disable", "ej20/totals",
	}
	service := zktest.Start(t, zktest.Debian(t), zktest.Options{})
	r, err := zk.New(zk.Options{Servers: []string{service.Address()}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() }) // it returns none
	for _, file := range recordings {
		members := operate(t, r)
		namespace, mark, live := writeRecorded(t, members, file)
		o, err := Open(t.Context(), r, namespace)
		if err != nil {
			t.Fatal(err)
		}
		all, err := o.Checkups(t.Context(), host.Options{})
		if err != nil || len(all) != 1 {
			t.Fatalf("%s: %d jobs, %v", file, len(all), err)
		}
		if err := o.Close(); err != nil {
			t.Error(err)
		}
		for _, x := range service.Log() {
			for _, c := range x.Changes {
				if x.Zxid > mark && c.Kind != zktest.SessionBegun && c.Kind != zktest.SessionEnded && !x.OnlyChecks() {
					t.Errorf("%s: written: %+v", file, c)
				}
			}
		}
		got := all[0]
		if len(got.Members) != live {
			t.Errorf("%s: members %v, want %d", file, got.Members, live)
		}
		switch {
		case file == "ej3/failover": // the member was killed in the run, and no other member was there to take it
			wantLines(t, file, got.Breaks, []string{": no session holds it, so members of ElasticJob think"})
		case earlier(file):
			checkOlder(t, file, &got)
		case file == "ej2/once":
			wantLines(t, file, got.Notes, []string{"runs once for all"})
		default:
			wantLines(t, file, got.Breaks, nil)
			wantLines(t, file, got.Needs, []string{`layout = "` + got.Layout + `", class = "peer.`})
		}
	}
}

// earlier reports whether a recording is of layout 1 or 2.0.
func earlier(file string) bool {
	return slices.ContainsFunc([]string{"ej10/", "ej1/", "ej20/"}, func(folder string) bool { return strings.HasPrefix(file, folder) })
}

// checkOlder checks the checkup of a job of layout 1 or 2.0.
func checkOlder(t *testing.T, file string, got *Checkup) {
	t.Helper()
	folder, scenario, _ := strings.Cut(file, "/")
	layout := map[string]string{"ej10": "1", "ej1": "1", "ej20": "2.0"}[folder]
	class, kind := "recorder.Work", "SIMPLE"
	switch scenario {
	case "sequence":
		class, kind = "recorder.Sequence", "DATA_FLOW"
	case "stop": // its release has no job types
		kind = ""
	}
	if got.Layout != layout || got.Class != class || got.Type != kind {
		t.Errorf("%s: layout %q, class %q, type %q", file, got.Layout, got.Class, got.Type)
	}
	wantLines(t, file, got.Breaks, []string{"no server of ours can join them"})
	servers := map[string]string{
		"ej1/basic": "10.0.0.1, READY, items 0,1; 10.0.0.2, READY, items 2,3",
		"ej1/pause": "10.0.0.1, READY, items 0,1,2,3; 10.0.0.2, READY, paused", "ej20/pause": "10.0.0.1, READY, items 0,1; 10.0.0.2, READY, paused, items 2,3",
		"ej10/stop":    "10.0.0.1, READY, paused, items 0,1; 10.0.0.2, gone, shut down, items 2,3",
		"ej1/failover": "10.0.0.1, READY, items 0,3; 10.0.0.2, gone",
	}[file]
	wantLines(t, file, got.Notes, []string{"its servers: " + servers})
}

// The checkup of a job of layout 1 or 2.0 names an unreadable value and still reports the rest.
func TestCheckupOfAnOlderJobWithAFault(t *testing.T) {
	t.Parallel()
	o := operate(t, passing(t))
	tree := recorded.EarlierTree(t, "ej1/shutdown.json", "without members")
	paths := map[string]string{} // by their last names
	for _, p := range slices.Sorted(maps.Keys(tree)) {
		at := strings.Replace(p, "/ns", "/jobs", 1)
		put(t, o, registry.Create, at, tree[p])
		paths[path.Base(at)] = at
	}
	breaks := func() []reason.Reason {
		all, err := o.Checkups(t.Context(), host.Options{}, "job")
		if err != nil || len(all) != 1 {
			t.Fatalf("%d jobs, %v", len(all), err)
		}
		wantLines(t, "servers", all[0].Notes, []string{"its servers: 10.0.0.1, gone"})
		return all[0].Breaks
	}
	put(t, o, registry.Set, paths["shardingTotalCount"], "two")
	wantLines(t, "a total", breaks(), []string{paths["config"] + ": expected the keys of layout 1, each in a node: config/shardingTotalCount: \"two\": expected a number"})
	put(t, o, registry.Set, paths["shardingTotalCount"], "2")
	put(t, o, registry.Set, paths["sharding"], "0,x")
	wantLines(t, "items", breaks(), []string{paths["sharding"] + ": \"x\" is no item"})
}

// A job that another user owns does not hide the others.
func TestCheckupsOfOthers(t *testing.T) {
	t.Parallel()
	service := zktest.Start(t, zktest.Debian(t), zktest.Options{})
	open := func(digest string) *Operator {
		r, err := zk.New(zk.Options{Servers: []string{service.Address()}, Digest: digest})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = r.Close() }) // it returns none
		return operate(t, r)
	}
	all, owner := open(""), open("owner:secret")
	javatest.Write(t, all.session, javatest.Config(nil))
	put(t, owner, registry.Create, "/jobs/secret", "")
	got, err := all.Checkups(t.Context(), host.Options{})
	if err != nil || len(got) != 2 {
		t.Fatalf("%d jobs, %v", len(got), err)
	}
	wantLines(t, "orders", got[0].Breaks, nil)
	wantLines(t, "secret", got[1].Breaks, []string{"another user, see digest in [registry]: "})
	if got[1].Newest != -1 {
		t.Errorf("what may not be read has come to %d", got[1].Newest)
	}
}

// writeRecorded writes the tree of a recording at a moment when all members were idle. It
// returns the namespace, the revision of that moment, and the number of members.
func writeRecorded(t *testing.T, o *Operator, file string) (namespace string, mark int64, live int) {
	t.Helper()
	var r struct {
		Namespace string
		Moments   []struct {
			Tree []struct {
				Path, Data string
				Ephemeral  bool
			}
		}
	}
	text := recorded.Golden
	if earlier(file) {
		text = recorded.Earlier
	}
	if err := json.Unmarshal(text(t, file+".json"), &r); err != nil {
		t.Fatal(err)
	}
	m := r.Moments[len(r.Moments)/2]
	namespace = strings.ReplaceAll(file, "/", "_")
	for k, n := range m.Tree {
		n.Path = strings.Replace(n.Path, r.Namespace, namespace, 1)
		m.Tree[k].Path = n.Path
		kind := registry.Create
		if n.Ephemeral {
			kind = registry.CreateEphemeral
		}
		if names := strings.Split(n.Path, "/"); names[len(names)-2] == "instances" || names[len(names)-1] == "status" {
			live++
		}
		put(t, o, kind, n.Path, n.Data)
	}
	last, err := o.session.Commit(t.Context(), registry.Op{Kind: registry.Set, Path: m.Tree[0].Path, Version: registry.AnyVersion})
	if err != nil {
		t.Fatal(err)
	}
	return namespace, last.Revision, live
}
