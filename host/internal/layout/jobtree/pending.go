package jobtree

import (
	"slices"

	"github.com/wasmjob/wasmjob/host/internal/layout/spelling"
	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/registry"
)

// pending are the pending runs that have changed since the newest view, by item;
// nil for one that is gone. All those of a server that died come at once, so they
// are brought into the list together.
type pending map[int]*protocol.Pending

// set takes the node of an item. It returns what is wrong with its data.
func (c *pending) set(i int, n registry.Node) error {
	if *c == nil {
		*c = pending{}
	}
	(*c)[i] = nil
	if !n.Exists {
		return nil
	}
	p, err := spelling.DecodePending(i, n.Data)
	p.Version, p.Modified = n.Stat.Version, n.Stat.Modified
	(*c)[i] = &p
	return err
}

// applied is the list with the changes, which are none afterwards. A list that was
// given away is not changed.
func (c *pending) applied(to []protocol.Pending) []protocol.Pending {
	if len(*c) == 0 {
		return to
	}
	all := make([]protocol.Pending, 0, len(to)+len(*c))
	for k := range to {
		if _, changed := (*c)[to[k].Item]; !changed {
			all = append(all, to[k])
		}
	}
	for _, p := range *c {
		if p != nil {
			all = append(all, *p)
		}
	}
	slices.SortFunc(all, func(a, b protocol.Pending) int { return a.Item - b.Item })
	*c = nil
	return append([]protocol.Pending(nil), all...) // no room to spare: a job at rest keeps it
}

// pendingIn is the pending run of an item in a list of them, or nil.
func pendingIn(all []protocol.Pending, item int) *protocol.Pending {
	k, ok := slices.BinarySearchFunc(all, item, func(p protocol.Pending, i int) int { return p.Item - i })
	if !ok {
		return nil
	}
	return &all[k]
}
