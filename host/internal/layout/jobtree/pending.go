package jobtree

import (
	"slices"

	"github.com/wasmjob/wasmjob/host/internal/layout/spelling"
	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/registry"
)

// pending are the pending runs that have changed since the newest view, by item; nil for
// one that is gone. Those of a dead server come all at once, so they are merged into the
// list together.
type pending map[int]*protocol.Pending

// set records the node of an item's pending run. It returns an error if the node's value
// cannot be read; the run then counts as one of ElasticJob.
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

// applied returns the list to with the changes, and forgets them.
func (c *pending) applied(to []protocol.Pending) []protocol.Pending {
	all := merged(to, *c, func(p *protocol.Pending) int { return p.Item })
	*c = nil
	return all
}

// pendingIn returns the pending run of an item from a list, or nil.
func pendingIn(all []protocol.Pending, item int) *protocol.Pending {
	k, ok := slices.BinarySearchFunc(all, item, func(p protocol.Pending, i int) int { return p.Item - i })
	if !ok {
		return nil
	}
	return &all[k]
}
