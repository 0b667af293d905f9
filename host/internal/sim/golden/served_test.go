package golden

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	hosts "github.com/wasmjob/wasmjob/host/internal/cluster"
	"github.com/wasmjob/wasmjob/host/internal/layout/v21"
	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/registry"
	"github.com/wasmjob/wasmjob/host/registry/zk/zktest"
)

// served replays a recording with hosts on a real ZooKeeper, in real time. Their writes
// are taken from the server's transaction log.
//
// Instants come when the script wants one: an operator then gives the job a cron that has
// only this instant. In the log such a text counts as the text that the recording has in
// its place.
type served struct {
	*play
	t       *testing.T
	server  *zktest.Server
	acts    []*act
	nevers  int
	checked int // runs whose context was compared
	spans   []span
	*act    // the current one
}

// act is one job in a namespace that was empty.
type act struct {
	*hosts.Cluster
	top     string
	config  v21.Config // as in the members' own file
	text    string     // the config node, as recorded
	texts   map[string]string
	members map[string]*hosts.Member
}

// span is a flow in the log: everything after one mark and before the next.
type span struct {
	name     string
	act      *act
	from, to int64
}

// never returns a cron without any instant in the near future, a different one each time.
func (p *served) never() string {
	p.nevers++
	return fmt.Sprintf("0 %d 0 1 1 ? 2098", p.nevers)
}

// ahead is the minimal time between writing a cron and its instant, so that all members
// know the cron by then.
const ahead = 2 * time.Second

func serve(t *testing.T, server *zktest.Server, file string, script func(*served)) *play {
	t.Helper()
	p := &served{play: &play{t: t, rec: record(t, file)}, t: t, server: server}
	p.anew(p.rec.Moments[0], 0)
	script(p)
	log := server.Log()
	for _, a := range p.acts {
		entries := a.entries(log)
		p.logs = append(p.logs, entries)
		for _, c := range p.spans {
			if c.act == a {
				p.scenes = append(p.scenes, c.scene(entries))
			}
		}
		a.whole(t, entries)
		p.checked += a.contexts(t, p.rec)
	}
	if p.checked == 0 {
		t.Error("no run was judged")
	}
	return p.play
}

// anew begins with an empty namespace and the configuration of a moment, with another
// total if that is not 0.
func (p *served) anew(m moment, total int32) {
	p.t.Helper()
	text := p.rec.config(p.t, m)
	c, err := v21.DecodeConfig([]byte(text))
	if err != nil {
		p.t.Fatal(err)
	}
	if total != 0 {
		c.ShardingTotalCount = total
		text = p.spell(*c)
	}
	namespace := p.rec.Namespace
	if p.act != nil {
		p.Release()
		for _, m := range p.members {
			m.Stop()
		}
		namespace += fmt.Sprintf("-%d", len(p.acts)+1)
	}
	p.act = &act{
		Cluster: hosts.New(p.t, p.server, namespace, "job"), top: "/" + namespace + "/job",
		config: *c, text: text, texts: map[string]string{}, members: map[string]*hosts.Member{},
	}
	p.acts = append(p.acts, p.act)
	p.config.Cron = p.never()
	p.texts[p.spell(p.config)] = text
	p.Hold()
}

func (p *served) spell(c v21.Config) string {
	p.t.Helper()
	data, err := v21.EncodeConfig(c)
	if err != nil {
		p.t.Fatal(err)
	}
	return string(data)
}

// start adds a member. Its options are for members that will be killed or slowed down.
func (p *served) start(name string, o hosts.Options) {
	p.t.Helper()
	o.Instance = job.InstanceID(p.rec.Outputs[name].Instance)
	o.Job = p.config.Apply(job.Config{Name: "job", Class: p.config.JobClass})
	p.members[name] = p.Start(o)
}

// flow replays a recorded flow.
func (p *served) flow(name string, do func()) {
	p.t.Helper()
	p.rec.flow(p.t, name)
	c := span{name: name, act: p.act, from: p.Mark()}
	do()
	c.to = p.Mark()
	p.spans = append(p.spans, c)
}

// glance reads the whole tree, as a moment of the recording has it.
func (p *served) glance(name string) {
	p.t.Helper()
	p.rec.moment(p.t, name)
	g := glance{name: name, world: world{}, versions: map[node]int32{}}
	p.Tree("/", func(path string, n registry.Node) {
		if k, ok := nodeOf(p.top, path); ok && path != "/" {
			g.world[k], g.versions[k] = p.state(stateOf(n)), n.Stat.Version
		}
	})
	p.glances = append(p.glances, g)
}

// state returns the state of a node here in the form of the recording.
func (a *act) state(s state) state {
	if text, ok := a.texts[s.data]; ok {
		s.data = text
	}
	return s
}

// cron writes a configuration that differs from the recorded one in its cron.
func (p *served) cron(text string) {
	p.t.Helper()
	c, err := v21.DecodeConfig([]byte(p.text))
	if err != nil {
		p.t.Fatal(err)
	}
	c.Cron = text
	data := p.spell(*c)
	p.texts[data] = p.text
	p.Write(registry.Op{Kind: registry.Set, Path: p.path(config), Data: []byte(data), Version: registry.AnyVersion})
}

// path returns the path of a node of the recording here.
func (p *served) path(n node) string {
	p.t.Helper()
	for _, m := range p.rec.Moments {
		for _, there := range m.Tree {
			if k, ok := nodeOf(p.rec.top, there.Path); ok && k == n {
				return p.here(there.Path)
			}
		}
	}
	p.t.Fatalf("the recording has no %s", n)
	return ""
}

func (p *served) here(path string) string { return strings.Replace(path, p.rec.top, p.top, 1) }

// tick lets an instant come.
func (p *served) tick() time.Time {
	p.t.Helper()
	at := time.Now().UTC().Truncate(time.Second).Add(time.Second + ahead)
	p.cron(at.Format("5 4 15 2 1 ? 2006"))
	return at
}

// askEvery is the interval at which a member is asked for its next instant.
const askEvery = 10 * time.Millisecond

// idleTick lets an instant come that changes nothing in the tree, and waits until a
// member has seen it.
func (p *served) idleTick(name string) {
	p.t.Helper()
	h := p.members[name].Host
	again := time.NewTicker(askEvery)
	defer again.Stop()
	at := p.tick()
	for range again.C {
		if now := time.Now(); now.After(at.Add(time.Minute)) {
			p.t.Fatalf("%s does not see the instant %v", name, at)
		}
		if next := h.Jobs()[0].Next; !next.Equal(at) && time.Now().After(at) {
			break // it waits for the loop, before any later instant
		}
	}
	if err := h.DisableItem(p.t.Context(), "job", 99); err == nil {
		p.t.Errorf("%s has an item 99", name)
	}
}

// tool repeats the operator's k-th write of a recorded flow.
func (p *served) tool(flow string, k int) {
	p.t.Helper()
	for _, w := range p.rec.flow(p.t, flow).Writes {
		if w.By != "tool" {
			continue
		}
		if k--; k >= 0 {
			continue
		}
		if n, _ := nodeOf(p.rec.top, w.Path); n == config {
			p.text = w.Data
			p.cron(p.never())
			return
		}
		kind := map[string]registry.OpKind{"setData": registry.Set, "delete": registry.Delete, "create": registry.Create}[w.Op]
		p.Write(registry.Op{Kind: kind, Path: p.here(w.Path), Data: []byte(w.Data), Version: registry.AnyVersion})
		return
	}
	p.t.Fatalf("%q has too few writes of an operator", flow)
}

// calm waits until the job has a leader and that many members own the items, with nothing
// left to be done.
func (p *served) calm(members int) {
	p.t.Helper()
	p.Await(fmt.Sprintf("%d members with their items", members), func(s hosts.State) bool {
		v := s.View
		return v.Leader != "" && !v.Necessary && len(v.Pending) == 0 && v.Config != nil && len(v.Runs) == len(v.Instances) &&
			len(v.Assignment.Members) == members && len(v.Items) == v.Config.Total && v.Assignment.Total == v.Config.Total &&
			!slices.ContainsFunc(v.Items, func(i protocol.Item) bool { return i.Owner == "" })
	})
}

// running waits until that many items run.
func (p *served) running(n int) {
	p.t.Helper()
	p.begun(n)
	p.Await(fmt.Sprintf("%d guests", n), func(s hosts.State) bool { return len(s.Guests) == n })
}

// begun waits until that many items have begun. Their guests may wait for slots.
func (p *served) begun(n int) {
	p.t.Helper()
	p.Await(fmt.Sprintf("%d items that run", n), func(s hosts.State) bool { return marked(s.View) == n && open(s.View) == n })
}

// end lets the guests end and waits until that is written.
func (p *served) end() {
	p.t.Helper()
	p.End()
	p.idle()
}

// idle waits until nothing runs.
func (p *served) idle() {
	p.t.Helper()
	p.Await("the end of all runs", func(s hosts.State) bool { return marked(s.View) == 0 && open(s.View) == 0 })
}

func marked(v *protocol.View) (n int) {
	for _, i := range v.Items {
		if i.Running != 0 {
			n++
		}
	}
	return n
}

func open(v *protocol.View) (n int) {
	for _, r := range v.Runs {
		n += len(r.Open)
	}
	return n
}

// entries returns the service's log in the form of the recording.
func (a *act) entries(log []zktest.Transaction) []entry {
	ids := map[int64]string{} // session ids
	for _, x := range log {
		for _, ch := range x.Changes {
			if n, ok := nodeOf(a.top, ch.Path); ok && n.kind == instances && ch.Ephemeral {
				ids[x.Session] = n.arg
			}
		}
	}
	var all []entry
	w := world{}
	for _, x := range log {
		e := entry{at: x.Time.UnixMilli(), z: x.Zxid, by: ids[x.Session]}
		next := maps.Clone(w)
		for _, ch := range x.Changes {
			a.add(&e, next, ch)
		}
		// Other members do not see a node that a transaction creates and removes, or
		// writes without a change.
		e.touched = slices.DeleteFunc(e.touched, func(t touch) bool { return next[t.node] == w[t.node] })
		if len(e.touched) > 0 {
			all = append(all, e)
		}
		w = next
	}
	return all
}

func (a *act) add(e *entry, w world, ch zktest.Change) {
	e.end = e.end || ch.Kind == zktest.SessionEnded
	n, ok := nodeOf(a.top, ch.Path)
	if !ok {
		return
	}
	t := touch{node: n}
	switch ch.Kind {
	case zktest.Created:
		t.state = state{exists: true, ephemeral: ch.Ephemeral, data: string(ch.Data)}
	case zktest.Set:
		t.state = state{exists: true, ephemeral: w[n].ephemeral, data: string(ch.Data)}
		t.set = true
	case zktest.Deleted:
	default:
		return
	}
	t.state = a.state(t.state)
	w[n] = t.state
	for k := range e.touched {
		if e.touched[k].node == n {
			t.set = t.set && e.touched[k].set
			e.touched[k] = t
			return
		}
	}
	e.touched = append(e.touched, t)
}

// scene cuts a flow out of the log.
func (c span) scene(log []entry) scene {
	s := scene{name: c.name, before: world{}}
	for _, e := range log {
		switch {
		case e.z < c.from:
			s.before = s.before.apply(e)
		case e.z < c.to:
			s.log = append(s.log, e)
		}
	}
	s.after = s.before
	for _, e := range s.log {
		s.after = s.after.apply(e)
	}
	return s
}

// whole checks that the log is complete: its result is the tree that exists.
func (a *act) whole(t *testing.T, log []entry) {
	t.Helper()
	left := world{}
	for _, e := range log {
		left = left.apply(e)
	}
	maps.DeleteFunc(left, func(_ node, s state) bool { return !s.exists })
	there := world{}
	a.Tree("/", func(path string, n registry.Node) {
		if k, ok := nodeOf(a.top, path); ok && path != "/" {
			there[k] = a.state(stateOf(n))
		}
	})
	if !maps.Equal(left, there) {
		t.Errorf("%s: the log leaves\n%v\nthere is\n%v", a.top, left, there)
	}
}

// contexts checks that guests received what the members of the recording printed for the
// same items: the id of the task and the context of the item. It returns the number of
// checked runs. A take-over is left out, since the recorded members take one item at a
// time.
func (a *act) contexts(t *testing.T, r *recording) (n int) {
	t.Helper()
	key := func(member, task string, item int, param *string, total int, jobParam string) string {
		text := "none"
		if param != nil {
			text = *param
		}
		return fmt.Sprintf("%s: %s, item %d (%q) of %d, job %q", member, task, item, text, total, jobParam)
	}
	there := map[string]bool{}
	for _, o := range r.Outputs {
		for _, e := range o.Events {
			if e.Ev == "item" {
				there[key(e.Instance, e.Task, e.Item, e.Param, e.Total, e.JobParam)] = true
			}
		}
	}
	for _, c := range a.State().Calls {
		if c.Failover {
			continue
		}
		var param *string
		if c.HasItemParam {
			param = &c.ItemParam
		}
		if k := key(string(c.Instance), c.TaskID, c.Item, param, c.Total, c.Config.Param); !there[k] {
			t.Errorf("no member of the recording was told %s", k)
		}
		n++
	}
	return n
}
