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

// listeners returns the listeners in the order in which 3.0.4 registers them.
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

// callListeners passes a notice to all listeners. What one throws does not concern the
// others, and after the end of the job none is called.
func (j *jvm) callListeners(t *thread, n notice) {
	all := j.listeners()
	for _, k := range j.order {
		if !j.shut {
			t.try(func() { all[k](t, n) })
		}
	}
}

// server is the path of the own server's node.
func (j *jvm) server() string { return j.w.nodes.servers + "/" + j.ip }

// elects is the listener that elects: when the own server is enabled while there is no
// leader, or the leader is gone.
func (j *jvm) elects(t *thread, n notice) {
	// It asks for the leader at each change of the tree.
	active := !t.exists(j.w.nodes.leader) && n.path == j.server() && n.data != j.w.nodes.disabled
	if active || n.path == j.w.nodes.leader && n.kind == removed && j.available(t, j.ip) {
		j.elect(t)
	}
}

// abdicates is the listener that ends the own lead when the own server is disabled.
func (j *jvm) abdicates(t *thread, n notice) {
	if j.leads(t) && n.path == j.server() && n.data == j.w.nodes.disabled {
		t.remove(j.w.nodes.leader)
	}
}

// seesTotal is the listener that asks for a reshard when the total changes. 0: the
// member has not joined yet.
func (j *jvm) seesTotal(t *thread, n notice) {
	if n.path != j.w.nodes.config || j.total == 0 {
		return
	}
	if c := j.parse(t, n.data); c.Total != j.total {
		j.markReshard(t)
		j.total = c.Total
	}
}

// seesServers is the listener that asks for a reshard when an instance comes or goes or
// a server changes, unless items stay with their members.
func (j *jvm) seesServers(t *thread, n notice) {
	if (strings.HasPrefix(n.path, j.w.nodes.instances) && n.kind != updated || path.Dir(n.path) == j.w.nodes.servers) && !j.static(t) {
		j.markReshard(t)
	}
}

// seesCrash is the listener that makes items of an instance that is gone run again.
func (j *jvm) seesCrash(t *thread, n notice) {
	if j.settings(t).Failover && n.kind == removed && path.Dir(n.path) == j.w.nodes.instances {
		j.crashed3(t, path.Base(n.path))
	}
}

// seesFailoverOff is the listener that removes failover marks when failover is switched
// off.
func (j *jvm) seesFailoverOff(t *thread, n notice) {
	if n.path != j.w.nodes.config || n.kind != updated || j.parse(t, n.data).Failover {
		return
	}
	for _, k := range t.kids(j.w.nodes.items) {
		t.remove(path.Join(j.w.nodes.items, k, markFailover))
	}
}

// seesItself is the listener that looks, when the own instance comes, for what members
// that are gone have left.
func (j *jvm) seesItself(t *thread, n notice) {
	if n.path == j.instance() && n.kind == added && j.settings(t).Failover {
		j.wantsLeft(t)
	}
}

// seesMonitorOff is the listener that removes running marks when monitorExecution is
// switched off.
func (j *jvm) seesMonitorOff(t *thread, n notice) {
	if n.path != j.w.nodes.config || n.kind != updated || j.parse(t, n.data).MonitorExecution {
		return
	}
	for i := range j.settings(t).Total {
		t.remove(j.w.nodes.item(i, markRunning))
	}
}

// seesShutdown is the listener that ends the job in this process when somebody has
// removed its instance. A notice from a time without connection does not count.
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

// seesTrigger is the listener for requests to run. A request during a run is dropped.
func (j *jvm) seesTrigger(t *thread, n notice) {
	if n.path != j.w.nodes.trigger+"/"+string(j.id()) || n.kind != added {
		return
	}
	t.remove(n.path)
	if !j.running {
		j.trigger()
	}
}

// seesCron is the listener that schedules anew when the cron changes.
func (j *jvm) seesCron(t *thread, n notice) {
	if n.path != j.w.nodes.config || n.kind != updated {
		return
	}
	if p := period(j.parse(t, n.data).Cron); p != j.period {
		j.schedule(p)
	}
}
