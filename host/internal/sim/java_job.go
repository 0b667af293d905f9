package sim

import (
	"slices"
	"strings"

	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/registry"
)

// poll is the interval at which a foreign member looks again.
const poll = 100 * millisecond

// startUp joins the job.
func (j *jvm) startUp(t *thread) {
	if j.w.three {
		j.startUp3(t)
		return
	}
	nodes := &j.w.nodes
	switch there := t.exists(nodes.config); {
	case !there:
		t.create(registry.Create, nodes.config, string(j.w.encoded()))
	case j.replace:
		t.read(nodes.config)
		t.persist(nodes.config, string(j.w.newConfig()))
	}
	n := t.read(nodes.config)
	c := j.parse(t, string(n.Data))
	j.total = c.Total
	j.reload()
	j.spawn(j.listen)
	j.elect(t)
	j.register(t, !c.Disabled)
	t.createIfNeeded(nodes.necessary)
	j.schedule(period(c.Cron))
	j.spawn(j.work)
}

// register writes the nodes of the server and of the instance.
func (j *jvm) register(t *thread, enabled bool) {
	value := j.w.nodes.enabled
	if !enabled {
		value = j.w.nodes.disabled
	}
	t.persist(j.w.nodes.servers+"/"+j.ip, value)
	t.ephemeral(j.instance(), j.registration())
}

// parse returns the configuration of a text. It keeps the newest, and throws if the text
// cannot be read.
func (j *jvm) parse(t *thread, text string) *protocol.Config {
	if text != j.text || j.config == nil {
		c := j.w.configOf(text)
		if c == nil {
			t.throw("the configuration cannot be read")
		}
		j.config, j.text = c, text
	}
	return j.config
}

// settings returns the configuration in the copy.
func (j *jvm) settings(t *thread) *protocol.Config { return j.parse(t, t.get(j.w.nodes.config)) }

func (j *jvm) leads(t *thread) bool { return t.get(j.w.nodes.leader) == string(j.id()) }

// elect makes the member the leader if, once it has its turn in the queue, there is
// none.
func (j *jvm) elect(t *thread) {
	t.inLatch(j.w.nodes.election, func() {
		if !t.exists(j.w.nodes.leader) {
			t.ephemeral(j.w.nodes.leader, string(j.id()))
		}
	})
}

// enabled reports whether the server of that address is enabled, by the copy.
func (j *jvm) enabled(t *thread, ip string) bool {
	if j.w.three {
		return j.enabled3(t, ip)
	}
	return t.get(j.w.nodes.servers+"/"+ip) != disabled21
}

// available reports whether an instance is registered at the address, or at one that
// begins with it.
func (j *jvm) available(t *thread, ip string) bool {
	return j.enabled(t, ip) && slices.ContainsFunc(t.kids(j.w.nodes.instances), func(id string) bool { return strings.HasPrefix(id, ip) })
}

// leadsUntilBlock waits until the job has a leader, and reports whether that is this
// member. It does not wait if no server can lead. The name is ElasticJob's.
func (j *jvm) leadsUntilBlock(t *thread) bool {
	for !t.exists(j.w.nodes.leader) && slices.ContainsFunc(t.kids(j.w.nodes.servers), func(ip string) bool { return j.available(t, ip) }) {
		t.sleep(poll)
		if !j.shut && j.available(t, j.ip) {
			j.elect(t)
		}
	}
	return j.leads(t)
}

// shard assigns the items if that was requested and this member leads; otherwise it waits
// until that is done.
func (j *jvm) shard(t *thread) {
	nodes := &j.w.nodes
	ids := j.present(t)
	if !t.exists(nodes.necessary) || len(ids) == 0 {
		return
	}
	if !j.leadsUntilBlock(t) {
		for !j.leadsUntilBlock(t) && (t.exists(nodes.necessary) || t.exists(nodes.processing)) {
			t.sleep(poll)
		}
		return
	}
	for j.anyRunning(t) {
		t.sleep(poll)
	}
	c := j.parse(t, string(t.read(nodes.config).Data))
	t.ephemeral(nodes.processing, "")
	total := c.Total
	for i := range total {
		t.remove(nodes.item(i, markOwner))
		t.createIfNeeded(nodes.item(i, ""))
	}
	for i, there := total, len(t.kids(nodes.items)); i < there; i++ {
		t.remove(nodes.item(i, ""))
	}
	j.assignItems(t, c, ids)
}

// present returns the instances that get items, descending.
func (j *jvm) present(t *thread) []string {
	var ids []string
	for _, id := range t.kids(j.w.nodes.instances) {
		if j.w.three && t.get(j.w.nodes.instances+"/"+id) == "" {
			continue // it is gone
		}
		if j.enabled(t, protocol.ID(id).IP()) {
			ids = append(ids, id)
		}
	}
	return ids
}

// anyRunning reports whether an item is marked as running. Without monitorExecution no
// item counts, as no run is marked.
func (j *jvm) anyRunning(t *thread) bool {
	c := j.settings(t)
	for i := range c.Total {
		if c.MonitorExecution && t.exists(j.w.nodes.item(i, markRunning)) {
			return true
		}
	}
	return false
}

// assignItems is the transaction in which every item gets its owner. If it is refused,
// the error is ignored and the mark stays.
func (j *jvm) assignItems(t *thread, c *protocol.Config, ids []string) {
	nodes := &j.w.nodes
	r := protocol.AssignRequest{Strategy: c.Strategy, Total: c.Total}
	for _, id := range ids {
		r.Instances = append(r.Instances, protocol.ID(id))
	}
	var ops []registry.Op
	for k, items := range assign(r).Items {
		for _, i := range items {
			ops = append(ops, registry.Op{Kind: registry.Create, Path: nodes.item(i, markOwner), Data: []byte(ids[k])})
		}
	}
	for _, p := range []string{nodes.necessary, nodes.processing} {
		ops = append(ops, registry.Op{Kind: registry.Delete, Path: p, Version: registry.AnyVersion})
	}
	_ = t.commit(ops...)
}

// mine returns the items that the copy gives to an instance; none if its server is not
// available.
func (j *jvm) mine(t *thread, id protocol.ID) []int {
	if !j.available(t, id.IP()) || j.w.three && !j.stillAvailable(t, id) {
		return nil
	}
	var items []int
	for i := range j.settings(t).Total {
		if t.get(j.w.nodes.item(i, markOwner)) == string(id) {
			items = append(items, i)
		}
	}
	return items
}

// schedule fires at the multiples of the period from now on.
func (j *jvm) schedule(p int64) {
	j.period = p
	if p > 0 {
		j.due = (j.now()/p + 1) * p
	}
	j.wake()
}

func (j *jvm) now() int64 { return j.w.now / millisecond }

// wake wakes the thread of the schedule if it waits.
func (j *jvm) wake() {
	if wake := j.worker; wake != nil {
		j.worker = nil
		wake()
	}
}

// trigger asks the thread of the schedule for a run of all items.
func (j *jvm) trigger() {
	j.asked++
	j.wake()
}

// work is the only thread of the schedule. Instants that come during a round are found
// after it: they leave marks, and are not run at once.
func (j *jvm) work(t *thread) {
	for !j.leaving && !j.shut {
		switch {
		case j.asked > 0:
			j.asked--
			j.answer(t, 0)
		case !j.paused && j.period > 0 && j.now() >= j.due:
			at := j.due
			j.due += j.period
			if !j.w.ticking() {
				continue
			}
			if j.now() > at+500 { // it could not fire in time
				j.missed(t)
				continue
			}
			j.fired = true
			j.answer(t, at)
			if j.now() >= j.due {
				j.late()
				j.missed(t)
			}
		default:
			t.await(func(wake func()) {
				j.worker = wake
				if j.period > 0 && !j.paused {
					j.w.after(max(j.due*millisecond-j.w.now, 0)+j.w.between(0, 3*millisecond), wake)
				}
			})
		}
	}
}

// missed marks the items whose instant passed as misfired, and skips to the next one.
// Before the first fire nothing is marked.
func (j *jvm) missed(t *thread) {
	if j.period > 0 {
		j.due = (j.now()/j.period + 1) * j.period
	}
	if !j.fired {
		return
	}
	t.try(func() {
		for _, i := range j.mine(t, j.id()) {
			t.createIfNeeded(j.w.nodes.item(i, markMisfire))
		}
	})
}

// answer runs a round for the instant at, or for a trigger if that is 0.
func (j *jvm) answer(t *thread, at int64) {
	j.busy = true
	t.try(func() { j.round(t, at) })
	j.busy = false
}

// round answers an instant or a trigger.
func (j *jvm) round(t *thread, at int64) {
	nodes := &j.w.nodes
	if j.w.three {
		j.checkTime(t)
	}
	failover := j.settings(t).Failover
	var items []int
	if failover {
		items = j.takenOver(t)
	}
	if len(items) == 0 {
		j.shard(t)
		items = j.mine(t, j.id())
		if failover {
			items = j.notTakenOff(t, items)
		}
		items = slices.DeleteFunc(items, func(i int) bool { return t.exists(nodes.item(i, markDisabled)) })
	} else {
		at = 0 // items that were taken over run for no instant
	}
	if j.parse(t, string(t.read(nodes.config).Data)).MonitorExecution {
		items = slices.DeleteFunc(items, func(i int) bool { return t.exists(nodes.item(i, markRunning)) })
	}
	if j.w.three {
		items = hashed(items)
	}
	for _, i := range items {
		if j.settings(t).MonitorExecution && t.exists(nodes.item(i, markRunning)) { // one still runs, so none begins
			for _, i := range items {
				t.createIfNeeded(nodes.item(i, markMisfire))
			}
			return
		}
	}
	j.awaitRound(t, nodes.started, items)
	j.runAll(t, items, at)
	for j.settings(t).Misfire && !t.exists(nodes.necessary) { // misfired items run once more
		n := 0
		for _, i := range items {
			if p := nodes.item(i, markMisfire); t.exists(p) {
				t.remove(p)
				n++
			}
		}
		if n == 0 {
			break
		}
		j.runAll(t, items, 0)
	}
	if j.settings(t).Failover {
		j.failover(t)
	}
	j.awaitRound(t, nodes.completed, items)
}

// notTakenOff leaves out the items that are taken over.
func (j *jvm) notTakenOff(t *thread, items []int) []int {
	own := items
	if j.w.three { // it asks once more which are its own
		own = j.mine(t, j.id())
	}
	var off []int
	for _, i := range own {
		if t.exists(j.w.nodes.item(i, markFailover)) {
			off = append(off, i)
		}
	}
	return slices.DeleteFunc(items, func(i int) bool { return slices.Contains(off, i) })
}

// runAll runs items at the same time.
func (j *jvm) runAll(t *thread, items []int, at int64) {
	if len(items) == 0 {
		return
	}
	w := j.w
	j.running = true
	c := j.settings(t)
	monitor := c.MonitorExecution
	for _, i := range items {
		switch p := w.nodes.item(i, markRunning); {
		case !monitor:
		case w.three && c.Failover: // it outlives the session
			t.persist(p, string(j.id()))
		case w.three:
			t.ephemeral(p, string(j.id()))
		default:
			t.ephemeral(p, "")
		}
	}
	var d int64
	for range items {
		d = max(d, w.between(5*millisecond, 300*millisecond))
		if w.chance(w.slowJobs) {
			d = max(d, w.between(w.profile.long[0], w.profile.long[1])*millisecond)
		}
	}
	w.tracef("%s: runs %v, of %d", j.name(), items, sinceStart(at))
	w.ledger.theyBegin(items, at)
	t.sleep(d)
	w.tracef("%s: has run %v", j.name(), items)
	j.running = false
	if w.three {
		monitor = j.settings(t).MonitorExecution
	}
	if monitor {
		for _, i := range items {
			t.remove(w.nodes.item(i, markRunning))
		}
		w.ledger.theyRan(items, at) // without marks others cannot know
	}
	if j.settings(t).Failover {
		for _, i := range items {
			t.remove(w.nodes.item(i, markFailover))
			if w.three {
				t.remove(w.nodes.item(i, markFailovering))
			}
		}
	}
}
