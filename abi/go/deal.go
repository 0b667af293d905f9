package wasmjob

import "strconv"

// Deal is what a strategy decides on: each item from 0 to Items()-1 is to be
// assigned to one instance, from 0 to Instances()-1. A strategy must decide
// alike on every server, so it may depend on nothing but this, the settings and
// the job's own fields.
type Deal struct{ h host }

// Items is how many items there are.
func (d Deal) Items() int { return Context(d).Total() }

// Instances is how many instances there are to deal to.
func (d Deal) Instances() int { return int(max(0, d.h.shardInstanceCount())) }

// ID names an instance; they come in descending order of their ids.
func (d Deal) ID(instance int) string {
	b, _ := read(func(buf []byte) int32 { return d.h.shardInstanceID(index(instance), buf) })
	return string(b)
}

// Label is a label of the instance's server; false if it has none of the name.
func (d Deal) Label(instance int, key string) (string, bool) {
	b, n := read(func(buf []byte) int32 { return d.h.shardInstanceLabel(index(instance), key, buf) })
	return string(b), n >= 0
}

// Owner is the instance that has the item now; false if none of these has.
func (d Deal) Owner(item int) (instance int, ok bool) {
	n := d.h.shardPrev(index(item))
	return int(max(0, n)), n >= 0
}

// Assign gives an item to an instance. It fails with ErrInvalid if there is no
// such item or instance, and with ErrConflict if the item was given before.
func (d Deal) Assign(item, instance int) error {
	return check(d.h.shardAssign(index(item), index(instance)), "assign item", strconv.Itoa(item))
}
