package wasmjob

import "strconv"

// Deal is the input of a strategy, which assigns each item from 0 to Items()-1 to one
// instance from 0 to Instances()-1. A strategy must decide the same on every server, so
// it may depend only on this, the settings and the job's own fields.
type Deal struct{ h host }

// Items returns the number of items.
func (d Deal) Items() int { return Context(d).Total() }

// Instances returns the number of instances to assign to.
func (d Deal) Instances() int { return int(max(0, d.h.shardInstanceCount())) }

// ID returns the id of an instance; they are in descending order.
func (d Deal) ID(instance int) string {
	b, _ := read(func(buf []byte) int32 { return d.h.shardInstanceID(index(instance), buf) })
	return string(b)
}

// Label returns a label of the instance's server; false if there is none of that name.
func (d Deal) Label(instance int, key string) (string, bool) {
	b, n := read(func(buf []byte) int32 { return d.h.shardInstanceLabel(index(instance), key, buf) })
	return string(b), n >= 0
}

// Owner returns the instance that owns the item now; false if none of these does.
func (d Deal) Owner(item int) (instance int, ok bool) {
	n := d.h.shardPrev(index(item))
	return int(max(0, n)), n >= 0
}

// Assign assigns an item to an instance. It fails with ErrInvalid if there is no such
// item or instance, and with ErrConflict if the item was assigned before.
func (d Deal) Assign(item, instance int) error {
	return check(d.h.shardAssign(index(item), index(instance)), "assign item", strconv.Itoa(item))
}
