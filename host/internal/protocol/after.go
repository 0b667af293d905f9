package protocol

import "github.com/wasmjob/wasmjob/host/reason"

// A job that runs after others has no schedule. Its instants are theirs: those at which
// every item of each of these jobs has ended well. Whoever owns an item begins the oldest
// that the item is not accounted for, so each begins once, in order, whatever dies in
// between, as long as the other jobs remember it.

// Preceded says at which instants the jobs before this one have ended well, ascending. A
// job that has had this input runs after others until one says that it does not.
type Preceded struct {
	Off      bool // it runs after no job
	Instants []int64
}

func (Preceded) input() {}

// preceded takes the instants over.
func (s *State) preceded(in Preceded) {
	s.schedule.follows, s.schedule.good = !in.Off, in.Instants
}

// oldestGood is the oldest of these instants for which the item is not accounted; 0: there
// is none.
func (s *State) oldestGood(i int) int64 {
	last := s.accounted(i)
	for _, t := range s.schedule.good {
		if t > last {
			return t
		}
	}
	return 0
}

// after opens a run of each idle item for the oldest instant that has ended well in the
// jobs before and that the item is not accounted for. A run that is to be tried again, or
// taken over, comes first. An instant that an operator keeps from beginning gets a row,
// and does not begin later.
func (b *beginning) after() {
	s := b.s
	if !s.company.ours() {
		return
	}
	for i := range s.view.total() {
		if !s.mine(i) || s.busy(i) || b.taken[i] || s.view.pending(i) != nil || s.retrying(i) {
			continue
		}
		t := s.oldestGood(i)
		switch {
		case t == 0:
		case s.paused(), s.view.cameInPause(t):
			b.skip(i, t, s.view.Pause.Reason())
		case s.view.item(i).Disabled:
			b.skip(i, t, reason.Of(reason.ItemDisabled))
		default:
			b.open(i, t, After)
		}
	}
}

// retrying: a retry of the item waits here.
func (s *State) retrying(i int) bool {
	for _, r := range s.own().Retries {
		if r.Item == i {
			return true
		}
	}
	return false
}

// skip accounts for an instant that does not begin.
func (b *beginning) skip(i int, t int64, why reason.Reason) {
	e := Entry{Item: i, Instant: t, Cause: After, Attempt: 1}
	row := Row{Entry: e, State: Skipped, Why: why, Ended: b.s.now, By: b.s.self}
	if !b.fits(e, []Row{row}) {
		b.m.More = true
		return
	}
	b.m.Own.row(row)
	b.m.Own.Last = set(b.m.Own.Last, i, t)
	b.changed = true
}

// afterRefused is why a job that runs after others cannot; none otherwise.
func (s *State) afterRefused() reason.Reason {
	if s.self == "" || !s.schedule.follows || s.company.ours() {
		return reason.Reason{}
	}
	return reason.Of(reason.AfterForeign)
}
