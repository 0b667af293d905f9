package sim

import (
	"path"
	"slices"
)

// The listener that members of 3.0.4 call once for all of them. Before a run and after it, a
// member creates a node for each of its items, and waits until every item of the job has one:
// ElasticJob calls that a guarantee, and this package a round. The member that sees all nodes
// calls the listener and deletes them, which ends the wait of the others.

// rounds is a member's part in rounds.
type rounds struct {
	waits   map[string]func() // wakes the worker, by the node of the round that it waits for
	since   int64             // when the wait began; 0: it does not wait
	expired int               // waits that nobody ended
}

// awaitRound takes part in a round with items. ElasticJob only logs what is thrown.
func (j *jvm) awaitRound(t *thread, root string, items []int) {
	if j.w.roundWait != 0 && len(items) > 0 {
		t.try(func() { j.enterRound(t, root, items) })
	}
}

// enterRound creates the nodes of the items below root. The member that then sees all
// nodes of the round calls its listener and deletes them; another waits for that, and
// throws after the time-out of the round.
func (j *jvm) enterRound(t *thread, root string, items []int) {
	for _, i := range items {
		t.createIfNeeded(inRound(root, i))
	}
	// A member that overlooks its own nodes because the round is over already waits for ever.
	for !j.sees(t, root, items) {
		j.stuckInRound(root)
		t.sleep(poll)
	}
	if j.full(t, root) {
		t.inLatch(root+"-latch", func() {
			if j.full(t, root) {
				j.w.tracef("%s: calls its listener, all have %s", j.name(), path.Base(root))
				t.sleep(j.w.between(millisecond, 20*millisecond))
			}
			t.remove(root)
		})
		return
	}
	before := j.w.now
	j.since = before
	t.await(func(wake func()) {
		j.waits[root] = wake
		j.w.after(j.w.roundWait, wake)
	})
	j.since = 0
	delete(j.waits, root)
	unrest, waited := j.w.ledger.unrest, j.w.now-before
	if waited >= second {
		j.w.ledger.unrest = j.w.now // its items did not begin at the instants that passed meanwhile
	}
	if waited >= j.w.roundWait {
		j.expired++
		j.w.ledger.waitedInVain(j, root, before, unrest)
		t.remove(root)
		t.throw("waited in vain until all have " + path.Base(root))
	}
}

// late records that instants passed while the member waited in rounds, so its items did
// not begin at them.
func (j *jvm) late() {
	if j.w.roundWait != 0 {
		j.w.ledger.unrest = j.w.now
	}
}

// sees reports whether the nodes of the items exist.
func (j *jvm) sees(t *thread, root string, items []int) bool {
	return !slices.ContainsFunc(items, func(i int) bool { return !t.exists(inRound(root, i)) })
}

// full reports whether every item has its node. More nodes than items fill only the round of
// those that have ended.
func (j *jvm) full(t *thread, root string) bool {
	if !t.exists(root) {
		return false
	}
	total := j.parse(t, string(t.read(j.w.nodes.config).Data)).Total
	n := len(t.kids(root))
	return n == total || n > total && root == j.w.nodes.completed
}

// stuckInRound lets an operator restart the process when the disturbances are over.
func (j *jvm) stuckInRound(root string) {
	if !j.stuck {
		j.w.tracef("%s: does not see its own nodes of %s", j.name(), path.Base(root))
		j.stuck = true
		j.w.ledger.stuckInRound(j, root)
		j.w.revive(j)
	}
}

// seesStarted is the listener for the end of a round of begins.
func (j *jvm) seesStarted(_ *thread, n notice) { j.seesRound(n, j.w.nodes.started) }

// seesCompleted is the listener for the end of a round of ends.
func (j *jvm) seesCompleted(_ *thread, n notice) { j.seesRound(n, j.w.nodes.completed) }

// seesRound ends the wait for a round when its node is removed. A wait that begins after
// that does not end in this way.
func (j *jvm) seesRound(n notice, root string) {
	if wake := j.waits[root]; wake != nil && n.path == root && n.kind == removed {
		wake()
	}
}

// checkTime compares the clocks, if the job says so. A member whose clock is wrong only logs
// that, and runs its items all the same.
func (j *jvm) checkTime(t *thread) {
	if j.settings(t).MaxSkew == 0 {
		return
	}
	t.persist(j.w.nodes.time, "")
	if !t.exists(j.w.nodes.time) {
		t.throw("the registry has no time")
	}
}

// static reports whether items stay with the members that have them.
func (j *jvm) static(t *thread) bool {
	j.settings(t)
	return staticText(j.text) && len(t.kids(j.w.nodes.items)) > 0
}
