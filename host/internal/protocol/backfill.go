package protocol

import (
	"slices"
	"strconv"

	"github.com/wasmjob/wasmjob/host/reason"
)

// An operator may request runs of instants that have passed without one. The instants wait
// for the owner of their item. It begins them one after the other, the oldest first,
// whenever nothing else is to begin. The transaction that begins an instant removes it from
// those that wait, so no other owner begins it again, even after a death or a move. Such a
// run has its instant as its id, like a run that an operator has tried again. It accounts
// for nothing, and the item's next instant does not wait for the instants that still do.

// Backfill is an item's past instants that wait to be begun.
type Backfill struct {
	Item     int
	Instants []int64 // ascending, at least one
	By       string  // the operator who asked for them
}

const (
	// MaxBackfill is the largest number of instants that may wait for one item.
	MaxBackfill = 1_000
	// MaxBackfillBy is the largest size of Backfill.By, in bytes.
	MaxBackfillBy = 200
)

type (
	// AskBackfill asks the owners of items to begin past instants.
	AskBackfill struct{ Queues []Backfill }
	// AskCancelBackfill drops the instants that wait for these items, or for all items if
	// there are none.
	AskCancelBackfill struct{ Items []int }
)

func (AskBackfill) ask()       {}
func (AskCancelBackfill) ask() {}

type (
	// PutBackfill writes the instants of a backfill, which wait for the owners of their
	// items. It begins a new epoch, since a Begin in flight may have been decided on others
	// that waited there.
	PutBackfill struct{ Queues []Backfill }
	// DropBackfill drops the instants of a backfill that still wait.
	DropBackfill struct{ Items []int }
)

func (PutBackfill) Name() string  { return "put-backfill" }
func (DropBackfill) Name() string { return "drop-backfill" }

func (PutBackfill) mutation()  {}
func (DropBackfill) mutation() {}

// backfill is the item's instants that wait; nil if none do.
func (v *View) backfill(i int) *Backfill {
	k, ok := slices.BinarySearchFunc(v.Backfills, i, func(f Backfill, i int) int { return f.Item - i })
	if !ok {
		return nil
	}
	return &v.Backfills[k]
}

// Backfilled is the number of instants of the item that wait.
func (v *View) Backfilled(i int) int {
	if f := v.backfill(i); f != nil {
		return len(f.Instants)
	}
	return 0
}

// bytes is an upper bound of the size of the value of the node that keeps the instants.
func (f *Backfill) bytes() int {
	return waitBytes + textBytes(f.By) + numberBytes*len(f.Instants)
}

// backfills begins the oldest waiting instant of each item that has nothing else to do. A
// reshard does not wait for such runs: they begin after it. The run's own instant is now,
// and its id, the trigger, is the past instant, so it accounts for no instant of the
// schedule. Beside foreign members none begins.
func (b *beginning) backfills() {
	s := b.s
	if !s.company.ours() || s.paused() || s.reshard.since != 0 || b.m.More { // due instants go first
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

// awaits reports whether an earlier run of the item waits for a taker or a retry.
func (b *beginning) awaits(i int) bool {
	return b.s.view.pending(i) != nil || slices.ContainsFunc(b.m.Own.Retries, func(r Retry) bool { return r.Item == i })
}

// put returns the mutation that lets the instants wait, or why they cannot.
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

// drop returns the mutation that drops waiting instants; nil if none wait.
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

// backfillWaits is the trouble to report if instants wait that cannot begin, since foreign
// members share the job; none otherwise.
func (s *State) backfillWaits() reason.Reason {
	if s.self == "" || len(s.view.Backfills) == 0 || s.company.ours() {
		return reason.Reason{}
	}
	return reason.Of(reason.BackfillForeign)
}
