package jobtree

import (
	"slices"

	"github.com/wasmjob/wasmjob/host/internal/layout/spelling"
	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/registry"
)

// The waiting instants of an item are below the assignment, so a job without any has no
// further node, and its members read none.

// backfill decodes the node of an item. One that cannot be read is left alone.
func (d *Decoder) backfill(rel, name string, n registry.Node) {
	i, ok := spelling.ItemNumber(name)
	if !ok {
		return
	}
	f := protocol.Backfill{Item: i}
	var err error
	if n.Exists {
		err = spelling.DecodeBackfill(&f, n.Data)
	}
	text := ""
	if err != nil {
		text = expected("instants of a backfill", err).Error() + "; they do not begin: delete it, and ask for them again"
	}
	d.faults.stray(rel, err != nil, text)
	d.v.Backfills = put(d.v.Backfills, n.Exists && err == nil, f, func(a, b protocol.Backfill) int { return a.Item - b.Item })
}

// putBackfill writes the waiting instants of items. It begins a new epoch, so that owners
// that decided before do not take them for others.
func (t *transaction) putBackfill(queues []protocol.Backfill) {
	t.setAssignment("put-backfill/epoch", &t.v.Assignment)
	for k := range queues {
		t.op(registry.Create, t.backfillOf(queues[k].Item), spelling.EncodeBackfill(&queues[k]), 0)
	}
}

// dropBackfill deletes the waiting instants of items, which then never begin.
func (t *transaction) dropBackfill(items []int) {
	for _, i := range items {
		t.delete(t.backfillOf(i), registry.AnyVersion)
	}
}

// backfilled removes the oldest waiting instant of each item. Only the item's owner does
// that, and instants are added only in a new epoch, so the node is the one that was seen,
// or gone.
func (t *transaction) backfilled(items []int) {
	for _, i := range items {
		f := *backfillIn(t.v.Backfills, i)
		if f.Instants = f.Instants[1:]; len(f.Instants) == 0 {
			t.delete(t.backfillOf(i), registry.AnyVersion)
		} else {
			t.op(registry.Set, t.backfillOf(i), spelling.EncodeBackfill(&f), registry.AnyVersion)
		}
	}
}

// backfillIn returns an item's waiting instants from a list, or nil.
func backfillIn(all []protocol.Backfill, item int) *protocol.Backfill {
	k, ok := slices.BinarySearchFunc(all, item, func(f protocol.Backfill, i int) int { return f.Item - i })
	if !ok {
		return nil
	}
	return &all[k]
}
