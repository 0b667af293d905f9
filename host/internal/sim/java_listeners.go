package sim

import (
	"path"
	"strings"
)

// Listeners of 3.0.4. Each is called for each change of the tree, one after the other on
// one thread. In which order Curator calls them depends on their hashes, so it differs
// from process to process.

// listeners3 is the number of listeners.
const listeners3 = 13

// listeners returns them in the order in which they are registered.
func (j *jvm) listeners() [listeners3]func(*thread, notice) {
	return [listeners3]func(*thread, notice){
		j.elects, j.abdicates, j.seesTotal, j.seesServers, j.seesCrash, j.seesFailoverOff, j.seesItself, j.seesMonitorOff, j.seesShutdown, j.seesTrigger, j.seesCron, j.seesStarted, j.seesCompleted,
	}
}

// shuffled returns the numbers below n in any order.
func (w *World) shuffled(n int) []int {
	order := make([]int, n)
	for k := range order {
		other := w.rng.IntN(k + 1)
		order[k] = order[other]
		order[other] = k
	}
	return order
}

// callListeners calls them. What one throws does not concern the others.
func (j *jvm) callListeners(t *thread, n notice) {
	all := j.listeners()
	for _, k := range j.order {
		if !j.shut {
			t.try(func() { all[k](t, n) })
		}
	}
}

func (j *jvm) server() string { return j.w.nodes.servers + "/" + j.ip }

func (j *jvm) elects(t *thread, n notice) {
	// It asks for the leader at each change of the tree.
	active := !t.exists(j.w.nodes.leader) && n.path == j.server() && n.data != j.w.nodes.disabled
	if active || n.path == j.w.nodes.leader && n.kind == removed && j.available(t, j.ip) {
		j.elect(t)
	}
}

func (j *jvm) abdicates(t *thread, n notice) {
	if j.leads(t) && n.path == j.server() && n.data == j.w.nodes.disabled {
		t.remove(j.w.nodes.leader)
	}
}

func (j *jvm) seesTotal(t *thread, n notice) {
	if n.path != j.w.nodes.config || j.total == 0 {
		return
	}
	if c := j.parse(t, n.data); c.Total != j.total {
		j.markReshard(t)
		j.total = c.Total
	}
}

func (j *jvm) seesServers(t *thread, n notice) {
	if (strings.HasPrefix(n.path, j.w.nodes.instances) && n.kind != updated || path.Dir(n.path) == j.w.nodes.servers) && !j.static(t) {
		j.markReshard(t)
	}
}

func (j *jvm) seesCrash(t *thread, n notice) {
	if j.settings(t).Failover && n.kind == removed && path.Dir(n.path) == j.w.nodes.instances {
		j.crashed3(t, path.Base(n.path))
	}
}

func (j *jvm) seesFailoverOff(t *thread, n notice) {
	if n.path != j.w.nodes.config || n.kind != updated || j.parse(t, n.data).Failover {
		return
	}
	for _, k := range t.kids(j.w.nodes.items) {
		t.remove(path.Join(j.w.nodes.items, k, markFailover))
	}
}

func (j *jvm) seesItself(t *thread, n notice) {
	if n.path == j.instance() && n.kind == added && j.settings(t).Failover {
		j.wantsLeft(t)
	}
}

func (j *jvm) seesMonitorOff(t *thread, n notice) {
	if n.path != j.w.nodes.config || n.kind != updated || j.parse(t, n.data).MonitorExecution {
		return
	}
	for i := range j.settings(t).Total {
		t.remove(j.w.nodes.item(i, markRunning))
	}
}

func (j *jvm) seesShutdown(t *thread, n notice) {
	if n.path != j.instance() || n.kind != removed || j.paused || t.exists(n.path) {
		return
	}
	j.w.tracef("%s: its instance was removed, the job ends here", j.name())
	if j.leads(t) {
		t.remove(j.w.nodes.leader)
	}
	j.shut = true
	j.w.revive(j)
	t.remove(j.instance()) // it may be registered again by now
}

func (j *jvm) seesTrigger(t *thread, n notice) {
	if n.path != j.w.nodes.trigger+"/"+string(j.id()) || n.kind != added {
		return
	}
	t.remove(n.path)
	if !j.running {
		j.trigger()
	}
}

func (j *jvm) seesCron(t *thread, n notice) {
	if n.path != j.w.nodes.config || n.kind != updated {
		return
	}
	if p := period(j.parse(t, n.data).Cron); p != j.period {
		j.schedule(p)
	}
}
