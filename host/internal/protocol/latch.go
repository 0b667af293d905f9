package protocol

import (
	"slices"
	"strconv"

	"github.com/wasmjob/wasmjob/host/reason"
)

// Some steps must be taken by one member at a time. Foreign members queue at a latch for
// such a step, and so do ours: the first in the queue may take it. While a member waits,
// everything else goes on. A member is first for one transaction only, which also gives up
// its place.

// Latch names a queue.
type Latch uint8

const (
	// ElectionLatch is the queue of members that want to lead.
	ElectionLatch Latch = iota + 1
	// FailoverLatch is the queue of members that want to take pending runs.
	FailoverLatch
)

// Contender is a place in a queue.
type Contender struct {
	Token  string // token of the member that holds the place; "" if the node's name has none
	Name   string // name of the node
	Holder ID     // the holder, if it is a member of ours
}

// latch returns the queue, in order.
func (v *View) latch(l Latch) []Contender {
	if l == FailoverLatch {
		return v.FailoverLatch
	}
	return v.ElectionLatch
}

// place returns the member's own place in a queue, and whether it is the first.
func (s *State) place(l Latch) (name string, first bool) {
	if s.o.Contender == "" {
		return "", false
	}
	q := s.view.latch(l)
	k := slices.IndexFunc(q, func(c Contender) bool { return c.Token == s.o.Contender })
	if k < 0 {
		return "", false
	}
	return q[k].Name, k == 0
}

// withdraw gives up a place that the member no longer needs. A first member that does not
// act holds up all others.
func withdraw(s *facts) Mutation {
	for _, l := range []Latch{ElectionLatch, FailoverLatch} {
		name, _ := s.place(l)
		if name == "" {
			continue
		}
		wanted := s.wants(l)
		if s.used = nil; !wanted { // the room is that of the Take that wants has only tried
			return Withdraw{Latch: l, Place: name}
		}
	}
	return nil
}

// wants reports whether the member would act if it were first in the latch.
func (s *facts) wants(l Latch) bool {
	if l == FailoverLatch {
		return s.company.shared && s.taking() != nil
	}
	return s.wantsLead()
}

// ahead is the first place of the election latch, while there is no leader and the place
// belongs to another member.
type ahead struct {
	place  string // "" if there is none
	holder ID
	since  int64
}

// queued notes since when another member is first in the election queue, while this one wants
// to lead, and reports it if that lasts.
func (s *State) queued(p *Plan) {
	q := s.view.ElectionLatch
	switch {
	case !s.wantsLead() || len(q) == 0 || q[0].Token == s.o.Contender:
		s.complaint.ahead = ahead{}
	case q[0].Name != s.complaint.ahead.place:
		s.complaint.ahead = ahead{q[0].Name, q[0].Holder, s.now}
	}
	s.reportLead(p)
}

// leadDue is when the job will have been without a leader for too long: three times the
// longest wait for a reshard; 0: never.
func (s *State) leadDue() int64 {
	if s.complaint.ahead.place == "" || s.o.ReshardWait == 0 {
		return 0
	}
	return s.complaint.ahead.since + overdueAfter*s.o.ReshardWait + 1
}

// leadReportDue is when a missing leader must be reported; 0: it has been, or need not be.
func (s *State) leadReportDue() int64 {
	if s.complaint.leaderless == s.complaint.ahead.place {
		return 0
	}
	return s.leadDue()
}

// leadOverdue is what has kept all members from leading for longer than an election takes;
// none if nothing has. The mirror does not show which foreign member holds a place. If that
// member hangs, its session ends by itself.
func (s *State) leadOverdue() reason.Reason {
	if due := s.leadDue(); due == 0 || s.now < due {
		return reason.Reason{}
	}
	place, seconds := strconv.Quote(s.complaint.ahead.place), strconv.FormatInt((s.now-s.complaint.ahead.since)/1000, 10)
	if s.complaint.ahead.holder != "" {
		return reason.Of(reason.LatchHeldBy, place, seconds, string(s.complaint.ahead.holder))
	}
	return reason.Of(reason.LatchHeld, place, seconds)
}

// reportLead reports once for each place in the way that the job has no leader, and later
// that it has one again.
func (s *State) reportLead(p *Plan) {
	why := s.leadOverdue()
	switch {
	case !why.None() && s.complaint.leaderless != s.complaint.ahead.place:
		s.complaint.leaderless = s.complaint.ahead.place
		p.add(Note{Why: why, Wrong: true, Goes: true})
	case s.complaint.leaderless != "" && s.view.Leader != "":
		s.complaint.leaderless = ""
		p.add(Note{Why: reason.Of(reason.LedAgain, string(s.view.Leader))})
	}
}
