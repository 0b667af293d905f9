package sim

import (
	"cmp"
	"maps"
	"math/bits"
	"slices"
	"strconv"

	"github.com/wasmjob/wasmjob/host/internal/layout"
	"github.com/wasmjob/wasmjob/host/internal/layout/spelling"
	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/registry"
)

// What members of ElasticJob 3.0.4 do in another way than those of 2.1.5.

// configOf reads the text of config; nil: it cannot be read.
func (w *World) configOf(text string) *protocol.Config {
	d := w.job.NewDecoder(nil)
	d.Apply(w.nodes.config, registry.Node{Exists: true, Data: []byte(text)})
	return d.View().Config
}

// serverValue is what the node of a server says, enabled or disabled, in this layout.
func serverValue(l layout.Layout, disabled bool) string {
	const ip = "10.0.0.1"
	ops := l.Encode(protocol.DisableServer{IP: ip, Disabled: disabled}, &protocol.View{Servers: []protocol.Server{{IP: ip}}})
	return string(ops[0].Data)
}

// registration is what the node of its instance says.
func (j *jvm) registration() string {
	ops := j.w.job.Encode(protocol.Join{ID: j.id()}, &protocol.View{})
	k := slices.IndexFunc(ops, func(op registry.Op) bool { return op.Path == j.instance() })
	return string(ops[k].Data)
}

// spelled divides a configuration into what 3.0.4 writes into two nodes: the text of
// config, and the class in the job's own node.
func (w *World) spelled(text []byte) (config, class string) {
	for _, op := range w.job.Encode(protocol.PutConfig{Config: spelling.Text(text)}, &protocol.View{}) {
		switch op.Path {
		case w.nodes.config:
			config = string(op.Data)
		case w.nodes.root:
			class = string(op.Data)
		}
	}
	return config, class
}

// startUp3 is startUp of 3.0.4. It does not ask for a reshard: its leader does.
func (j *jvm) startUp3(t *thread) {
	nodes := &j.w.nodes
	if t.exists(nodes.root) {
		t.read(nodes.root)
	}
	var text, class string
	switch there := t.exists(nodes.config); {
	case !there:
		text, class = j.w.spelled(j.w.encoded())
	case j.replace:
		text, class = j.w.spelled(j.w.newConfig())
	default:
		text = string(t.read(nodes.config).Data)
	}
	if class != "" { // it goes on with its own configuration
		t.persist(nodes.config, text)
		t.persist(nodes.root, class)
	}
	c := j.parse(t, text)
	j.total = c.Total
	j.reload()
	j.spawn(j.listen)
	j.elect(t)
	j.register(t, !c.Disabled)
	j.spawn(j.reconcile)
	j.removeOffline(t)
	j.scheduled = true
	j.schedule(period(c.Cron))
	j.spawn(j.work)
}

// removeOffline removes the nodes of servers without instances that say nothing.
func (j *jvm) removeOffline(t *thread) {
	online := t.kids(j.w.nodes.instances)
	if len(online) == 0 {
		return
	}
	for _, ip := range t.kids(j.w.nodes.servers) {
		p := j.w.nodes.servers + "/" + ip
		if !slices.ContainsFunc(online, func(id string) bool { return protocol.ID(id).IP() == ip }) && t.get(p) == "" {
			t.remove(p)
		}
	}
}

// enabled3 is enabled of 3.0.4. A node of a server that is missing or empty is awaited
// for a second; then the server is not enabled.
func (j *jvm) enabled3(t *thread, ip string) bool {
	p := j.w.nodes.servers + "/" + ip
	says := t.get(p)
	for k := 0; says == "" && k < 10; k++ {
		t.sleep(poll)
		says = t.get(p)
	}
	return says == j.w.nodes.enabled
}

// stillAvailable asks once more whether the instance's server is available, since 3.0.4
// does. It throws if the instance has no node.
func (j *jvm) stillAvailable(t *thread, id protocol.ID) bool {
	if t.get(j.w.nodes.instances+"/"+string(id)) == "" {
		t.throw("its own instance is not there")
	}
	return j.available(t, id.IP())
}

// hashed sorts items as a HashMap of Java with room for just these goes through them.
func hashed(items []int) []int {
	if len(items) < 2 {
		return items
	}
	buckets := 1 << bits.Len(uint(len(items)-1))
	slices.SortStableFunc(items, func(a, b int) int { return cmp.Compare(a%buckets, b%buckets) })
	return items
}

// markReshard asks for a reshard, unless another member leads: in 3.0.4 only the leader
// writes that mark.
func (j *jvm) markReshard(t *thread) {
	if j.leadsUntilBlock(t) {
		t.createIfNeeded(j.w.nodes.necessary)
	}
}

// reconcile is a thread that asks for a reshard if items belong to members that are not
// there. It looks each minute, and acts when the interval of the job is over. A job with
// staticSharding keeps its items where they are.
func (j *jvm) reconcile(t *thread) {
	for done := j.now(); !j.shut; t.sleep(60 * second) {
		every := j.settings(t).ReconcileEvery
		if every <= 0 || j.now() < done+every {
			continue
		}
		done = j.now()
		if !t.exists(j.w.nodes.necessary) && j.ownerOffline(t) && !j.static(t) {
			j.markReshard(t)
		}
	}
}

// ownerOffline reports whether an item's owner has no instance.
func (j *jvm) ownerOffline(t *thread) bool {
	online := t.kids(j.w.nodes.instances)
	for i := range j.settings(t).Total {
		if !slices.Contains(online, t.get(j.w.nodes.item(i, markOwner))) {
			return true
		}
	}
	return false
}

// crashed3 is crashed of 3.0.4. Only items that were running, as their marks say, are
// made pending: those that the instance had taken over or, if there are none, its own.
func (j *jvm) crashed3(t *thread, id string) {
	if id == string(j.id()) {
		return
	}
	if items := j.marked(t, markFailovering, id); len(items) > 0 {
		slices.Sort(items)
		for _, i := range items {
			t.createIfNeeded(j.w.nodes.pending + "/" + strconv.Itoa(i))
			j.failover(t)
		}
		return
	}
	if !j.enabled(t, protocol.ID(id).IP()) {
		return
	}
	var items []int
	for i := range j.settings(t).Total {
		if t.exists(j.w.nodes.item(i, markRunning)) && t.get(j.w.nodes.item(i, markOwner)) == id {
			items = append(items, i)
		}
	}
	for _, i := range items {
		j.wantsAgain(t, i)
		j.failover(t)
	}
}

// wantsAgain makes an item pending and removes its running mark, unless a member has
// taken it by now.
func (j *jvm) wantsAgain(t *thread, i int) {
	if !t.exists(j.w.nodes.item(i, markFailover)) {
		t.createIfNeeded(j.w.nodes.pending + "/" + strconv.Itoa(i))
		t.remove(j.w.nodes.item(i, markRunning))
	}
}

// wantsLeft is what a member does when it finds itself alone: items that members that
// are gone had taken over or were running become pending.
func (j *jvm) wantsLeft(t *thread) {
	here := j.present(t)
	if len(here) != 1 || here[0] != string(j.id()) {
		return
	}
	runs, taken := j.says(t, markRunning), j.says(t, markFailovering)
	if len(runs)+len(taken) == 0 {
		return
	}
	for _, i := range slices.Sorted(maps.Keys(taken)) {
		if taken[i] != string(j.id()) {
			t.createIfNeeded(j.w.nodes.pending + "/" + strconv.Itoa(i))
			t.remove(j.w.nodes.item(i, markFailovering))
			t.remove(j.w.nodes.item(i, markRunning))
			delete(runs, i)
		}
	}
	for _, i := range slices.Sorted(maps.Keys(runs)) {
		if runs[i] != string(j.id()) {
			j.wantsAgain(t, i)
			t.remove(j.w.nodes.item(i, markRunning))
		}
	}
	j.failover(t)
}

// says returns, by item, the value of a mark that has one.
func (j *jvm) says(t *thread, mark string) map[int]string {
	said := map[int]string{}
	for i := range j.settings(t).Total {
		if text := t.get(j.w.nodes.item(i, mark)); text != "" {
			said[i] = text
		}
	}
	return said
}
