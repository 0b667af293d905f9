package protocol

import (
	"slices"
	"strconv"

	"github.com/wasmjob/wasmjob/host/internal/backoff"
	"github.com/wasmjob/wasmjob/host/reason"
)

// A run that failed may be tried again after a while, as the next attempt. Until then it
// waits in its member's record. Its item is not open during that, so it delays neither a
// reshard nor a trigger. The item's next instant replaces it. If the item moves, the run
// moves with it: see moved.go.

// RetryPolicy is how often a run is tried, and how long it waits in between.
type RetryPolicy struct {
	Attempts            int   // number of attempts in all; 0 or 1: no retry
	Backoff, MaxBackoff int64 // ms; each wait is twice the one before, up to MaxBackoff unless that is 0
	OnlyAsked           bool  // only runs whose guest asked for another attempt, and not those that timed out
}

// longest bounds every wait, in ms: a year.
const longest = 366 * 24 * 3_600_000

// wait is the wait after so many attempts that count, in ms.
func (r RetryPolicy) wait(attempts int) int64 {
	bound := int64(longest)
	if r.MaxBackoff > 0 {
		bound = min(r.MaxBackoff, longest)
	}
	return backoff.After(r.Backoff, bound, attempts)
}

// retries reports whether a guest's run is tried again: its end is one that the policy
// retries, no later instant has come, no other retry of the item waits, and it need not move
// beside foreign members, which would take it at once.
func (s *State) retries(g *guest) bool {
	if !s.o.Retry.takes(g) || s.later(g.Entry) || s.retriesElsewhere(g.Item) && s.company.shared {
		return false
	}
	return s.view.waiting(g.Item) == nil && !slices.ContainsFunc(s.own().Retries, func(r Retry) bool { return r.Item == g.Item })
}

// takes reports whether the policy retries the guest's end: the attempt failed and was not
// the last one that counts, or it ended because its member left (drained), and does not
// count. With OnlyAsked, the guest must have asked for it.
func (r RetryPolicy) takes(g *guest) bool {
	if r.OnlyAsked && !(g.asked && g.state != TimedOut) {
		return false
	}
	return r.Attempts > 1 && g.drained || (g.state == Failed || g.state == TimedOut) && g.counted() < r.Attempts
}

// counted is the number of the run's attempts that count, up to this one.
func (e Entry) counted() int { return max(e.Attempt-e.Uncounted, 1) }

// Run is the id of the run within its job and item.
func (e Entry) Run() string {
	if e.Trigger != "" {
		return e.Trigger
	}
	return strconv.FormatInt(e.Instant, 10)
}

// RunsFor returns the instant that the run's guest sees, and whether it is one of the
// schedule. A trigger that is a number is an instant of the schedule: that of a backfill, or
// of a run that an operator tries again, whose former id it is.
func (e Entry) RunsFor() (instant int64, scheduled bool) {
	switch at, err := strconv.ParseInt(e.Trigger, 10, 64); {
	case e.Trigger == "":
		return e.Instant, true
	case err == nil:
		return at, true
	case e.First != 0:
		return e.First, false
	}
	return e.Instant, false
}

// retry adds the next attempt, which waits. If an attempt ended because its member left,
// the run is not at fault: its next attempt need not wait, and this one does not count.
func (d *RunsData) retry(s *State, e Entry, drained bool) {
	after := s.now + s.o.Retry.wait(e.counted())
	if drained {
		after = s.now
		e.Uncounted++
	}
	e.Attempt++
	e.Begun = 0
	k, _ := slices.BinarySearchFunc(d.Retries, e.Item, func(r Retry, i int) int { return r.Item - i })
	d.Retries = slices.Insert(d.Retries, k, Retry{Entry: e, After: after})
}

// retried is why an attempt is tried again.
func (g *guest) retried() reason.Reason {
	switch {
	case g.drained:
		return g.why
	case g.state == TimedOut:
		return reason.Of(reason.TimedOut)
	}
	return reason.Of(reason.Failed)
}

// retries begins the retries that have waited long enough. Others stay in the record: account
// gives up those that never begin, and moves those of items that have moved.
func (b *beginning) retries() {
	s := b.s
	b.m.Own.Retries = slices.DeleteFunc(b.m.Own.Retries, func(r Retry) bool {
		i := r.Item
		if s.now < r.After || s.retryNeverBegins(r) != "" || !s.mine(i) || s.paused() || s.busy(i) || b.taken[i] || s.view.pending(i) != nil || b.blocked(i) != "" {
			return false
		}
		e := r.Entry
		e.Begun = s.now
		if !b.fits(e, nil) {
			return false
		}
		b.add(e)
		return true
	})
}

// overtaken returns the rows of a retry whose item begins its next instant.
func (b *beginning) overtaken(i int) []Row {
	var rows []Row
	for _, r := range b.m.Own.Retries {
		if r.Item == i {
			rows = append(rows, b.s.givenUp(r, reason.NextInstantBeforeRetry))
		}
	}
	return rows
}

// overtake drops the item's retry, whose row overtaken has returned.
func (b *beginning) overtake(i int) {
	b.m.Own.Retries = slices.DeleteFunc(b.m.Own.Retries, func(r Retry) bool { return r.Item == i })
}

// givenUp is the row of a retry that will not begin.
func (s *State) givenUp(r Retry, why reason.Code) Row {
	return Row{Entry: r.Entry, State: Interrupted, Why: reason.Of(why), Ended: s.now, By: s.self}
}

// retryNeverBegins is why a retry will never begin, on any member; "" if it may.
func (s *State) retryNeverBegins(r Retry) reason.Code {
	switch {
	case s.later(r.Entry):
		return reason.NextInstantBeforeRetry
	case s.session.leaving && s.config() == nil:
		return reason.ShuttingDown
	case r.Item >= s.view.total() && s.reshard.since == 0:
		return reason.ItemGone
	case s.view.item(r.Item).Disabled:
		return reason.ItemDisabled
	case !s.retriesElsewhere(r.Item): // here it may
		return ""
	case s.company.shared:
		return reason.RetryWithForeign
	case s.session.leaving && s.view.pending(r.Item) != nil: // an item has one pending run at most
		return reason.AnotherRunWaits
	}
	return ""
}

// nextRetry is when the next retry is due; 0 if there is none. A retry that is due already
// waits for a change, which a view will show.
func (s *State) nextRetry() int64 {
	var next int64
	if !s.works() || s.paused() {
		return 0
	}
	for _, r := range s.own().Retries {
		if r.After > s.now {
			next = sooner(next, r.After)
		}
	}
	for k := range s.view.Pending {
		if p := &s.view.Pending[k]; s.waitsHere(p) && p.After > s.now {
			next = sooner(next, p.After)
		}
	}
	return next
}

// retryDue reports whether some retry has waited long enough, here or pending for this
// member.
func (s *State) retryDue() bool {
	return s.works() && (slices.ContainsFunc(s.own().Retries, func(r Retry) bool { return r.After <= s.now }) ||
		slices.ContainsFunc(s.view.Pending, func(p Pending) bool { return s.waitsHere(&p) && p.After <= s.now }))
}
