package sim

import (
	"path"
	"strconv"

	"github.com/wasmjob/wasmjob/host/internal/protocol"
)

// takenOver returns the items that the member has taken over.
func (j *jvm) takenOver(t *thread) []int { return j.marked(t, markFailover, string(j.id())) }

// marked returns the items whose mark names the instance.
func (j *jvm) marked(t *thread, mark, id string) []int {
	var items []int
	for _, k := range t.kids(j.w.nodes.items) {
		p := path.Join(j.w.nodes.items, k, mark)
		if t.exists(p) && string(t.read(p).Data) == id {
			if i, err := strconv.Atoi(k); err == nil {
				items = append(items, i)
			}
		}
	}
	return items
}

// crashed is a foreign member's reaction to an instance that is gone. Its items are made
// pending, whether they ran or not: those that it had taken over or, if there are none,
// its own. The latter happens only while another instance has its address, since the
// items of an address without one cannot be read.
func (j *jvm) crashed(t *thread, id string) {
	if !j.settings(t).Failover || id == string(j.id()) {
		return
	}
	items := j.marked(t, markFailover, id)
	if len(items) == 0 {
		items = j.mine(t, protocol.ID(id))
	}
	for _, i := range items {
		if !t.exists(j.w.nodes.item(i, markFailover)) {
			t.createIfNeeded(j.w.nodes.pending + "/" + strconv.Itoa(i))
		}
		j.failover(t)
	}
}

// failover takes one of the waiting items, unless the member is busy.
func (j *jvm) failover(t *thread) {
	nodes := &j.w.nodes
	needed := func() bool {
		return t.exists(nodes.pending) && len(t.kids(nodes.pending)) > 0 && !j.running
	}
	if !needed() {
		return
	}
	t.inLatch(nodes.failover, func() {
		if j.shut || !needed() {
			return
		}
		waiting := t.kids(nodes.pending)
		if len(waiting) == 0 {
			return
		}
		i, err := strconv.Atoi(waiting[0])
		if err != nil {
			t.throw("a pending item has no number")
		}
		t.ephemeral(nodes.item(i, markFailover), string(j.id()))
		if j.w.three {
			t.persist(nodes.item(i, markFailovering), string(j.id()))
		}
		t.remove(nodes.pending + "/" + waiting[0])
		j.trigger()
	})
}
