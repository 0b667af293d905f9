package sim

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/job"
	recordings "github.com/wasmjob/wasmjob/host/job/recorded"
	"github.com/wasmjob/wasmjob/host/registry"
	"github.com/wasmjob/wasmjob/host/registry/tree"
)

// Simulated members of 3.0.4 write what its processes were recorded writing: each of them
// the same nodes in the same order.

// replay plays a recording with simulated members.
type replay struct {
	*World
	t       *testing.T
	rec     recordingOf3
	traced  bytes.Buffer
	seen    int64
	changes map[int64][]tree.Change // by revision
	from    int64                   // the revision at which the flow begins
}

type recordingOf3 struct {
	Namespace string
	Moments   []struct {
		Name string
		Tree []struct {
			Path, Data string
			Ephemeral  bool
		}
	}
	Flows   []flowOf3
	Outputs map[string]struct{ Instance string }
}

type flowOf3 struct {
	recordings.Flow

	Requests map[string]map[string]int // by member and kind
}

func replayOf3(t *testing.T, file string, set func(*World)) *replay {
	t.Helper()
	p := fair()
	p.layout = job.Layout3
	r := &replay{t: t, changes: map[int64][]tree.Change{}}
	if err := json.Unmarshal(recordings.Golden(t, "ej3/"+file+".json"), &r.rec); err != nil {
		t.Fatal(err)
	}
	r.World = newWorld(1, drawn(1), p, &r.traced)
	r.calm = true
	r.plain(6, 0)
	r.config.Misfire, r.config.Cron = true, "0 0 3 1 1 ? 2090"
	set(r.World)
	for _, p := range r.job.Namespace() {
		r.apply(nil, []registry.Op{{Kind: registry.Create, Path: p}}, origin{what: "namespace"})
	}
	t.Cleanup(r.stop)
	return r
}

// until plays up to a time, in ms since the start.
func (r *replay) until(ms int64) {
	for end := startTime*second + ms*millisecond; len(r.queue) > 0 && r.queue[0].at <= end; {
		e := r.queue.pop()
		r.now = e.at
		e.do()
		for _, x := range r.log {
			if x.rev > r.seen {
				r.seen, r.changes[x.rev] = x.rev, x.changes
			}
		}
	}
	if r.broken() {
		r.t.Fatalf("%s\n%s", r.breaches[0], lastLines(r.traced.String()))
	}
}

// begin starts the recorded member of that number. Its listeners are called in the order
// of their registration, or with these first.
func (r *replay) begin(number int, first ...int) *jvm {
	id := protocol.ID(r.rec.Outputs[fmt.Sprintf("m%d", number)].Instance)
	_, process, _ := strings.Cut(string(id), "@-@")
	pid, err := strconv.Atoi(process)
	if err != nil {
		r.t.Fatal(err)
	}
	j := &jvm{w: r.World, label: string(rune('P' + len(r.jvms))), ip: id.IP(), pid: pid - 1, timeout: 2 * second}
	r.jvms = append(r.jvms, j)
	j.start()
	j.order = slices.Clone(first)
	for k := range listeners3 {
		if !slices.Contains(j.order, k) {
			j.order = append(j.order, k)
		}
	}
	return j
}

// flow plays a recorded flow up to a time and compares what its members wrote. Those that
// write in two threads at once may do so in another order.
func (r *replay) flow(name string, ms int64, inTwo ...string) {
	r.t.Helper()
	k := slices.IndexFunc(r.rec.Flows, func(f flowOf3) bool { return f.Name == name })
	if k < 0 {
		r.t.Fatalf("there is no flow %q", name)
	}
	reads := map[string]int{}
	for k, j := range r.jvms {
		reads[fmt.Sprintf("m%d", k+1)] = -j.read
	}
	r.until(ms)
	for k, j := range r.jvms {
		reads[fmt.Sprintf("m%d", k+1)] += j.read
	}
	theirs, ours := r.theirs(r.rec.Flows[k].Flow), r.ours()
	for _, m := range inTwo {
		slices.Sort(theirs[m])
		slices.Sort(ours[m])
	}
	if d := cmp.Diff(theirs, ours); d != "" {
		r.t.Errorf("%s: recorded and simulated differ:\n%s\n%s", name, d, lastLines(r.traced.String()))
	}
	r.from = r.seen
	if strings.Contains(name, "execution only") { // nobody waits in it
		for m, n := range r.rec.Flows[k].Requests {
			want := n["exists"] + n["getData"] + n["getChildren"] + n["getChildren2"]
			if reads[m] != want {
				r.t.Errorf("%s: %s reads %d times, recorded %d", name, m, reads[m], want)
			}
		}
	}
}

// moment compares the whole tree with a recorded one.
func (r *replay) moment(name string) {
	r.t.Helper()
	theirs, ours := map[string]string{}, map[string]string{}
	for _, m := range r.rec.Moments {
		for _, n := range m.Tree {
			if rel, below := strings.CutPrefix(n.Path, "/"+r.rec.Namespace+"/job/"); m.Name == name && below {
				theirs[rel] = nodeLine(rel, "", n.Data, n.Ephemeral)
			}
		}
	}
	r.tree.Walk(r.nodes.root, func(path string, n registry.Node) bool {
		if rel, below := strings.CutPrefix(path, r.nodes.root+"/"); below {
			ours[rel] = nodeLine(rel, "", string(n.Data), n.Stat.Owner != 0)
		}
		return true
	})
	for _, nodes := range []map[string]string{theirs, ours} {
		maps.DeleteFunc(nodes, func(rel, _ string) bool { return strings.HasSuffix(rel, "/latch") })
	}
	if d := cmp.Diff(theirs, ours); d != "" || len(theirs) == 0 {
		r.t.Errorf("%s: recorded and simulated differ:\n%s", name, d)
	}
}

// latched are the nodes of queues, which ZooKeeper deletes when they are empty, and of
// those who wait, which have names of their own.
var latched = regexp.MustCompile(`latch(/.*)?$`)

func nodeLine(rel, kind, data string, ephemeral bool) string {
	if ephemeral {
		kind += " E"
	}
	if rel == "config" || rel == "" {
		data = "" // the class and the cron are others
	}
	return strings.TrimSpace(kind + " " + latched.ReplaceAllString(rel, "latch") + " " + data)
}

// theirs is what each recorded member wrote.
func (r *replay) theirs(f recordings.Flow) map[string][]string {
	all := map[string][]string{}
	for _, w := range f.Each() {
		kind, _, _ := strings.Cut(w.Op, "2")
		kind = map[string]string{"create": "create", "createContainer": "create", "setData": "set", "delete": "delete"}[kind]
		rel, below := strings.CutPrefix(w.Path, "/"+r.rec.Namespace+"/job")
		if kind != "" && below && strings.HasPrefix(w.By, "m") && !gone(f, w) && !strings.HasSuffix(rel, "/latch") {
			all[w.By] = append(all[w.By], nodeLine(strings.TrimPrefix(rel, "/"), kind, w.Data, w.Ephemeral))
		}
	}
	return all
}

// gone reports whether the node went with a session.
func gone(f recordings.Flow, w recordings.Write) bool {
	return slices.ContainsFunc(f.Writes, func(s recordings.Write) bool { return s.By == w.By && slices.Contains(s.Removes, w.Path) })
}

var byJava = regexp.MustCompile(`server: (\d+) java ([P-Z])/`)

// ours is what each simulated member wrote in the flow.
func (r *replay) ours() map[string][]string {
	all := map[string][]string{}
	for _, by := range byJava.FindAllStringSubmatch(r.traced.String(), -1) {
		rev, _ := strconv.ParseInt(by[1], 10, 64)
		m := fmt.Sprintf("m%d", by[2][0]-'P'+1)
		for _, c := range r.changes[rev] {
			kind := map[tree.ChangeKind]string{tree.Created: "create", tree.DataSet: "set", tree.Deleted: "delete"}[c.Kind]
			rel := strings.TrimPrefix(c.Path, r.nodes.root)
			if rev > r.from && kind != "" && !strings.HasSuffix(rel, "/latch") {
				all[m] = append(all[m], nodeLine(strings.TrimPrefix(rel, "/"), kind, string(c.Node.Data), c.Node.Stat.Owner != 0))
			}
		}
	}
	return all
}

func TestRecordedStartsAndInstants(t *testing.T) {
	t.Parallel()
	r := replayOf3(t, "basic", func(w *World) { w.config.Failover, w.config.Cron = false, cronOf(10) })
	r.until(1000)
	r.begin(1)
	r.flow("start of first instance", 3000)
	r.moment("after start of 1 instance (before its first sharding)")
	r.begin(2)
	r.flow("start of second instance", 5000)
	r.begin(3)
	r.flow("start of third instance", 7000)
	r.sweep() // it is seen before the instants
	r.moment("after start of 3 instances (before the first sharding)")
	r.flow("first tick: sharding of 6 items over 3 instances, then execution", 19_000)
	r.moment("after completion")
	r.flow("second tick: execution only (6 items, 3 instances)", 29_000)
	r.flow("3 s of idling between ticks", 29_900)
}

func TestRecordedTriggers(t *testing.T) {
	t.Parallel()
	r := replayOf3(t, "trigger", func(w *World) {
		w.config.Failover = false
		w.slowJobs, w.profile.long = 1, [2]int64{1500, 1501}
	})
	for k := range 3 {
		r.begin(k + 1)
		r.until(int64(k+1) * 1000)
	}
	r.from = r.seen
	trigger := func(all ...*jvm) {
		ops := []registry.Op{{Kind: registry.Create, Path: r.nodes.trigger}}
		r.apply(nil, ops, origin{what: "tool"})
		for _, j := range all {
			r.apply(nil, []registry.Op{{Kind: registry.Create, Path: r.nodes.trigger + "/" + string(j.id())}}, origin{what: "tool"})
		}
	}
	trigger(r.jvms[0])
	r.flow("trigger of 1 instance(s)", 10_000)
	trigger(r.jvms...)
	r.flow("trigger of 3 instance(s)", 15_000)
	trigger(r.jvms[0])
	r.until(15_700)
	trigger(r.jvms[0])
	r.flow("second trigger while the first one still runs (it is dropped)", 20_000)
}

func TestRecordedFailover(t *testing.T) {
	t.Parallel()
	r := replayOf3(t, "failover", func(w *World) {
		w.config.Cron = cronOf(20)
		w.slowJobs, w.profile.long = 1, [2]int64{5000, 5001}
	})
	const crash = 4 // what m1 heard of the death first
	m1 := r.begin(1, crash)
	r.until(1000)
	m2 := r.begin(2)
	r.until(2000)
	m3 := r.begin(3)
	r.until(22_000)
	r.moment("all running, before the kill")
	r.from = r.seen
	m2.exit()
	m3.freeze() // it was slower
	r.endSession(m2.s)
	r.until(22_300)
	m3.thaw()
	r.until(24_950)
	m3.freeze()
	r.after(300*millisecond, m3.thaw)
	r.flow("SIGKILL of a non-leader during execution and failover of its items", 35_000)
	r.moment("after failover")
	r.flow("next tick (resharding to 2)", 41_000)
	r.until(50_000)
	r.moment("idle with two, before killing the leader")
	r.from = r.seen
	m1.exit()
	for _, p := range []string{r.nodes.leader, m1.instance()} { // in the order of the recording
		r.apply(nil, []registry.Op{{Kind: registry.Delete, Path: p, Version: registry.AnyVersion}}, origin{what: "session end"})
	}
	r.flow("SIGKILL of the idle leader", 55_000)
	r.moment("after the idle leader's death")
}

// TestRecordedExecution: a job without a cron is asked for a run by who has just started.
func TestRecordedExecution(t *testing.T) {
	t.Parallel()
	r := replayOf3(t, "oneoff", func(w *World) {
		w.config.Failover, w.config.ShardingTotalCount = false, 4
		w.slowJobs, w.profile.long = 1, [2]int64{500, 501}
	})
	r.begin(1)
	r.until(1000)
	r.begin(2)
	r.until(3000)
	r.moment("one-off job, 2 instances, never triggered")
	r.from = r.seen
	m3 := r.begin(3)
	r.until(4000)
	m3.spawn(func(t *thread) {
		t.remove(r.nodes.trigger)
		for _, id := range t.kids(r.nodes.instances) {
			t.createIfNeeded(r.nodes.trigger + "/" + id)
		}
	})
	r.flow("third instance starts and calls execute()", 8000, "m3")
	r.moment("after execute()")
}
