package protocol

import (
	"slices"
	"strconv"

	"github.com/wasmjob/wasmjob/host/reason"
)

// An operator may ask for instants that have passed without a run. They wait for the
// owner of their item, who begins them one after the other, the oldest first, whenever
// nothing else is to begin. The transaction that begins an instant takes it from those
// that wait, so no owner begins it again, whoever dies or gets the item. Such a run has
// the id of its instant, as a run that an operator has tried again: it accounts for
// nothing, and the item's next instant does not wait for those behind it.

// Backfill is the instants of an item that wait.
type Backfill struct {
	Item     int
	Instants []int64 // ascending, at least one
	By       string  // who asked for them
}

const (
	// MaxBackfill is how many instants may wait for one item.
	MaxBackfill = 1_000
	// MaxBackfillBy bounds, in bytes, who asked for them.
	MaxBackfillBy = 200
)

type (
	// AskBackfill lets instants that have passed wait for the owners of their items.
	AskBackfill struct{ Queues []Backfill }
	// AskCancelBackfill gives up what waits of these items; of all, if there are none.
	AskCancelBackfill struct{ Items []int }
)

func (AskBackfill) ask()       {}
func (AskCancelBackfill) ask() {}

type (
	// PutBackfill lets instants wait for the owners of their items, in a new epoch: a Begin
	// on its way may have been decided on others that waited there.
	PutBackfill struct{ Queues []Backfill }
	// DropBackfill gives up what waits of items.
	DropBackfill struct{ Items []int }
)

func (PutBackfill) Name() string  { return "put-backfill" }
func (DropBackfill) Name() string { return "drop-backfill" }

func (PutBackfill) mutation()  {}
func (DropBackfill) mutation() {}

// backfill is what waits for the item; nil: nothing does.
func (v *View) backfill(i int) *Backfill {
	k, ok := slices.BinarySearchFunc(v.Backfills, i, func(f Backfill, i int) int { return f.Item - i })
	if !ok {
		return nil
	}
	return &v.Backfills[k]
}

// Backfilled is how many instants of the item wait.
func (v *View) Backfilled(i int) int {
	if f := v.backfill(i); f != nil {
		return len(f.Instants)
	}
	return 0
}

// bytes is at least as many as its node has.
func (f *Backfill) bytes() int {
	return waitBytes + textBytes(f.By) + numberBytes*len(f.Instants)
}

// backfills begins, of each item that has nothing else to do, the oldest instant that
// waits. A reshard does not wait for these runs: they begin after it.
func (b *beginning) backfills() {
	s := b.s
	if !s.company.ours() || s.paused() || s.reshard.since != 0 || b.m.More { // what is due goes first
		return
	}
	for k := range s.view.Backfills {
		f := &s.view.Backfills[k]
		i := f.Item
		if !s.mine(i) || s.view.item(i).Disabled || s.busy(i) || b.taken[i] || b.awaits(i) || b.blocked(i) != "" {
			continue
		}
		e := Entry{Item: i, Instant: s.now, Trigger: strconv.FormatInt(f.Instants[0], 10), Cause: Backfilled, Attempt: 1, Begun: s.now}
		if !b.fits(e, nil) {
			return
		}
		b.m.Backfilled = append(b.m.Backfilled, i)
		b.add(e)
	}
}

// awaits: a run of the item waits that began before.
func (b *beginning) awaits(i int) bool {
	return b.s.view.pending(i) != nil || slices.ContainsFunc(b.m.Own.Retries, func(r Retry) bool { return r.Item == i })
}

// put is the mutation that lets instants wait, or why they cannot.
func (a AskBackfill) put(v *View) (Mutation, string) {
	if !v.Assignment.Exists {
		return nil, "no server of ours has ever run it, or its assignment cannot be read"
	}
	for _, f := range a.Queues {
		switch {
		case f.Item >= v.total() || !v.item(f.Item).Exists:
			return nil, "there is no item " + strconv.Itoa(f.Item)
		case v.backfill(f.Item) != nil:
			return nil, "instants of item " + strconv.Itoa(f.Item) + " wait already, since somebody asked for them before; cancel that, or wait"
		}
	}
	return PutBackfill(a), ""
}

// drop is the mutation that gives up what waits, of the items or of all; nil: nothing
// does.
func (a AskCancelBackfill) drop(v *View) Mutation {
	var m DropBackfill
	for _, f := range v.Backfills {
		if len(a.Items) == 0 || slices.Contains(a.Items, f.Item) {
			m.Items = append(m.Items, f.Item)
		}
	}
	if m.Items == nil {
		return nil
	}
	return m
}

// backfillWaits is why what waits does not begin; none: nothing waits, or it begins.
func (s *State) backfillWaits() reason.Reason {
	if s.self == "" || len(s.view.Backfills) == 0 || s.company.ours() {
		return reason.Reason{}
	}
	return reason.Of(reason.BackfillForeign)
}
