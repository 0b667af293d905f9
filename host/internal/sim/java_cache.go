package sim

import (
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/wasmjob/wasmjob/host/registry"
)

// treeCache is a foreign member's copy of the job's nodes. It lags: it is notified that a
// node has changed, and then reads it.
type treeCache struct {
	nodes map[string]registry.Node
	asked map[string]bool
}

// notice is a change that the copy reports to the listeners.
type notice struct {
	kind noticeKind
	path string
	data string
}

type noticeKind uint8

const (
	added noticeKind = iota
	updated
	removed
)

// reload reads every node again.
func (j *jvm) reload() {
	if j.copy.nodes == nil {
		j.copy.nodes = map[string]registry.Node{}
	}
	j.copy.asked = map[string]bool{}
	j.refresh(j.w.nodes.root, 0)
	for _, p := range slices.Sorted(maps.Keys(j.copy.nodes)) {
		j.refresh(p, 0)
	}
}

// refresh reads a node after a while.
func (j *jvm) refresh(p string, d int64) {
	if j.copy.nodes == nil || j.copy.asked[p] {
		return
	}
	j.copy.asked[p] = true
	asked := j.copy.asked
	j.later(d, func() {
		j.read++
		j.s.read(p, func(n registry.Node) {
			if asked[p] {
				delete(asked, p)
				j.learn(p, n)
			}
		})
	})
}

// learn puts a node that was read into the copy, and notifies the listeners of what has
// changed. Children that the copy lacks are read, too. 3.0.4 compares versions only, so
// a node that was deleted and created again looks unchanged.
func (j *jvm) learn(p string, n registry.Node) {
	was, had := j.copy.nodes[p]
	if n.Exists && (!had || was.Stat.ChildVersion != n.Stat.ChildVersion) {
		j.read++ // of its children
	}
	switch {
	case !n.Exists:
		j.forget(p)
		return
	case !had:
		j.copy.nodes[p] = n
		j.notify(notice{added, p, string(n.Data)})
	case j.w.three && was.Stat.Version == n.Stat.Version: // it may be another node by now
		j.copy.nodes[p] = n
		if p == j.w.nodes.trigger+"/"+string(j.id()) && was.Stat.Created != n.Stat.Created {
			// The listener misses this request, as in the original.
			j.w.ledger.unnoticed[j.id()] = n.Stat.Created
		}
	case was.Stat.Created != n.Stat.Created || was.Stat.Modified != n.Stat.Modified:
		j.copy.nodes[p] = n
		j.notify(notice{updated, p, string(n.Data)})
	default:
		j.copy.nodes[p] = n
	}
	for _, name := range was.Children { // the copy may have missed that one was removed
		if !j.w.three && !slices.Contains(n.Children, name) {
			j.forget(p + "/" + name)
		}
	}
	for _, name := range n.Children {
		if _, known := j.copy.nodes[p+"/"+name]; !known {
			j.refresh(p+"/"+name, 0)
		}
	}
}

// forget removes a node from the copy and notifies the listeners. Only 3.0.4 gives them
// its last value.
func (j *jvm) forget(p string) {
	was, had := j.copy.nodes[p]
	if !had {
		return
	}
	delete(j.copy.nodes, p)
	n := notice{kind: removed, path: p}
	if j.w.three {
		n.data = string(was.Data)
	}
	j.notify(n)
}

// changed receives an event of the registry.
func (j *jvm) changed(e registry.Event) {
	if e.Gone {
		for _, wake := range j.gone[e.Path] {
			wake()
		}
		delete(j.gone, e.Path)
	}
	if j.copy.nodes == nil || strings.Contains(e.Path, "/wasm") {
		return
	}
	switch _, known := j.copy.nodes[e.Path]; {
	case e.Changes == 0: // children have events of their own
	case e.Gone && (j.w.three || !j.copy.asked[e.Path]):
		j.forget(e.Path)
	case known || j.w.three:
		j.refresh(e.Path, j.w.cacheLag())
	default:
		// The copy is notified of the parent, and then reads the node.
		j.refresh(e.Path, j.w.cacheLag()+j.w.delay())
	}
}

// cacheLag is the delay before a copy reads a node.
func (w *World) cacheLag() int64 {
	if !w.calm && w.chance(0.02) {
		return w.between(millisecond, 100*millisecond)
	}
	return w.between(0, 3*millisecond)
}

// notify queues a notice for the listeners and wakes their thread.
func (j *jvm) notify(n notice) {
	j.notices = append(j.notices, n)
	if wake := j.wakeListeners; wake != nil {
		j.wakeListeners = nil
		wake()
	}
}

// listen is the thread of the listeners. A listener that waits delays all others.
func (j *jvm) listen(t *thread) {
	for {
		if len(j.notices) == 0 {
			t.await(func(wake func()) { j.wakeListeners = wake })
			continue
		}
		n := j.notices[0]
		j.notices = j.notices[1:]
		if j.w.three {
			j.callListeners(t, n)
			continue
		}
		t.try(func() { j.handleMessage(t, n) })
	}
}

// handleMessage passes a notice to the listeners of 2.1.5, in the order in which they
// are registered: of the election, of the reshard, of failover, of the schedule and of
// the own instance.
func (j *jvm) handleMessage(t *thread, n notice) {
	nodes := &j.w.nodes
	if j.shut {
		return
	}
	server := nodes.servers + "/" + j.ip
	switch {
	case n.path == server && n.data != disabled21 && !t.exists(nodes.leader),
		n.path == nodes.leader && n.kind == removed && j.available(t, j.ip):
		j.elect(t)
	}
	if n.path == server && n.data == disabled21 && j.leads(t) {
		t.remove(nodes.leader)
	}
	if n.path == nodes.config && j.total != 0 { // 0: it has not joined yet
		if c := j.settings(t); c.Total != j.total {
			t.createIfNeeded(nodes.necessary)
			j.total = c.Total
		}
	}
	instance := strings.HasPrefix(n.path, nodes.instances)
	if instance && n.kind != updated || path.Dir(n.path) == nodes.servers {
		t.createIfNeeded(nodes.necessary)
	}
	if instance && n.kind == removed && n.path != nodes.instances {
		j.crashed(t, path.Base(n.path))
	}
	if n.path == nodes.config && n.kind == updated {
		j.reconfigured(t)
	}
	if n.path == j.instance() {
		j.own(t, n)
	}
}

// own handles a change of the member's own node.
func (j *jvm) own(t *thread, n notice) {
	switch {
	case n.kind == removed && !j.paused && !t.exists(n.path):
		j.w.revive(j)
		j.w.tracef("%s: its instance was removed, the job ends here", j.name())
		if j.leads(t) {
			t.remove(j.w.nodes.leader)
		}
		j.shut = true
		j.w.revive(j) // its session may have been away for longer than the disturbances
	case n.kind == added && n.data == triggered21:
		// The listener is only for changes of the node, and this one has not changed
		// since the copy has it.
		j.w.ledger.unnoticed[j.id()] = j.copy.nodes[n.path].Stat.Modified
	case n.kind == updated && n.data == triggered21:
		_ = t.commit(registry.Op{Kind: registry.Set, Path: n.path, Version: registry.AnyVersion})
		if !j.running {
			j.trigger()
		}
	}
}

// reconfigured does what listeners of ElasticJob do when config has changed: they clear the
// marks of what was switched off, and schedule by the new cron.
func (j *jvm) reconfigured(t *thread) {
	c := j.settings(t)
	if !c.Failover {
		for _, k := range t.kids(j.w.nodes.items) {
			t.remove(path.Join(j.w.nodes.items, k, markFailover))
		}
	}
	if !c.MonitorExecution {
		for _, k := range t.kids(j.w.nodes.items) {
			t.remove(path.Join(j.w.nodes.items, k, markRunning))
		}
	}
	if p := period(c.Cron); p != j.period {
		j.schedule(p)
	}
}
