package protocol

import "github.com/wasmjob/wasmjob/host/reason"

// A job that runs after others has no schedule. Its instants are those at which every item
// of each of the other jobs has ended well. The owner of an item begins the oldest instant
// for which the item is not accounted. So each instant begins once, in order, even if
// members die in between, as long as the other jobs remember it.

// Preceded lists the instants, ascending, at which the jobs before this one have ended
// well. A job that has had this input runs after others until an input has Off.
type Preceded struct {
	Off      bool // the job runs after no other
	Instants []int64
}

func (Preceded) input() {}

// preceded stores whether the job runs after others, and the instants at which those have
// ended well.
func (s *State) preceded(in Preceded) {
	s.schedule.follows, s.schedule.good = !in.Off, in.Instants
}

// oldestGood is the oldest instant that has ended well in the jobs before and for which the
// item is not accounted; 0 if there is none.
func (s *State) oldestGood(i int) int64 {
	last := s.accounted(i)
	for _, t := range s.schedule.good {
		if t > last {
			return t
		}
	}
	return 0
}

// after opens a run of each idle item for its oldestGood. A run that is to be tried again,
// or taken over, comes first. An instant that an operator's setting keeps from beginning
// gets a row, and does not begin later. Beside foreign members, which know nothing of the
// jobs before this one, none begins.
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
		case t == 0: // none waits
		case s.paused(), s.view.cameInPause(t): // or in a pause that is over
			b.skip(i, t, s.view.Pause.Reason())
		case s.view.item(i).Disabled:
			b.skip(i, t, reason.Of(reason.ItemDisabled))
		default:
			b.open(i, t, After)
		}
	}
}

// retrying reports whether a retry of the item waits here.
func (s *State) retrying(i int) bool {
	for _, r := range s.own().Retries {
		if r.Item == i {
			return true
		}
	}
	return false
}

// skip gives a row to an instant at which the jobs before have ended well, but which does not
// begin here. The item is then accounted for up to it. If the row does not fit, the next
// transaction has it.
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

// afterRefused is why a job that is to run after others cannot; none otherwise.
func (s *State) afterRefused() reason.Reason {
	if s.self == "" || !s.schedule.follows || s.company.ours() {
		return reason.Reason{}
	}
	return reason.Of(reason.AfterForeign)
}
