package jobtree

import (
	"github.com/wasmjob/wasmjob/host/internal/layout/servertree"
	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/registry"
)

// begins are the newest begins of items, as nodes of the items have them. A nil map ignores
// all nodes.
type begins map[int]begin

type begin struct {
	at   int64 // ms; 0: unknown
	rev  int64 // the revision that wrote it
	next int64 // the revision that wrote the next instant; 0: that node is missing
}

// take records a node of an item, if it shows when the item began.
func (b begins) take(item int, mark string, n registry.Node) {
	if b == nil || mark != markLastBegin && mark != markNextFire {
		return
	}
	x := b[item]
	if mark == markNextFire {
		x.next = n.Stat.Modified
	} else {
		x.at, x.rev = beganAt(n), n.Stat.Modified
	}
	b[item] = x
}

// maxAhead is how far, in ms, a member's clock may be ahead of the registry's.
const maxAhead = 3_600_000

// beganAt returns when an item began, by its node; 0 if the node does not say that. A time
// long after the node was written is wrong: each reshard would take it for a begin just
// now. The time of the write then counts.
func beganAt(n registry.Node) int64 {
	at, err := servertree.ParseMillis(string(n.Data))
	if err != nil {
		return 0
	}
	if written := n.Stat.ModifiedAt.UnixMilli(); at > written+maxAhead {
		return max(written, 0)
	}
	return at
}

// foreign returns when a member of ElasticJob began the item; 0 if a member of ours began
// it last. Members of ElasticJob write the two nodes one after the other; ours write both
// in one transaction, or delete the second.
func (b begins) foreign(item int) int64 {
	if x := b[item]; x.next != 0 && x.next != x.rev {
		return x.at
	}
	return 0
}

// forget drops the begins of items that no longer exist.
func (b begins) forget(items []protocol.Item) {
	for i := range b {
		if i >= len(items) || !items[i].Exists {
			delete(b, i)
		}
	}
}
