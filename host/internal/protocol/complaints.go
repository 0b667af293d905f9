package protocol

import (
	"slices"
	"strconv"

	"github.com/wasmjob/wasmjob/host/reason"
)

// complaint is what was reported last, so that it is reported only once.
type complaint struct {
	trouble    reason.Reason // why the job does not go on
	cron       reason.Reason
	ahead      ahead  // the place that keeps this member from leading
	leaderless string // the place with which a missing leader was reported; "": there is a leader
}

// Troubles lists what keeps the job from going on as it should, and what is foreign or
// damaged in its nodes, one reason each.
func (s *State) Troubles() []reason.Reason {
	v := s.view
	if v == nil {
		return nil
	}
	all := slices.Clone(v.Faults)
	if s.self != "" && v.Config == nil && v.ConfigFault == "" {
		all = append(all, reason.Of(reason.ConfigGone))
	}
	if s.self != "" && s.foreignBlocker() != "" && !s.session.barred { // otherwise the blockers are reported
		all = append(all, reason.Of(s.foreignBlocker()))
	}
	if why := s.waitsForAddress(); !why.None() {
		all = append(all, why)
	}
	if why := s.restStays(); !why.None() {
		all = append(all, why)
	}
	if s.self != "" && s.strategyIsForeign() {
		all = append(all, reason.Of(reason.LeadLeftToForeign, strconv.Quote(s.config().Strategy)))
	}
	if s.reshardOverdue() {
		all = append(all, reason.Of(reason.ReshardOverdue, strconv.FormatInt((s.now-s.reshard.since)/1000, 10)))
	}
	if why := s.leadOverdue(); !why.None() {
		all = append(all, why)
	}
	if own := s.own(); s.size.recordFull != 0 && own != nil {
		all = append(all, reason.Of(reason.RecordWouldOverflow, strconv.Itoa(s.size.recordFull), strconv.Itoa(s.recordBound()), strconv.Itoa(len(own.Open))))
	}
	if !s.clock.why.None() {
		all = append(all, s.clock.why)
	}
	return append(all, slices.DeleteFunc([]reason.Reason{s.accountedAhead(), s.unreadWhy(), s.catchUpRefused(), s.backfillWaits(), s.afterRefused()}, reason.Reason.None)...)
}

// complain reports in the log, once, why the job does not go on, and, when why is none, that
// it does again.
func (s *State) complain(p *Plan, why reason.Reason) {
	switch {
	case why == s.complaint.trouble:
	case why.None():
		p.add(Note{Why: reason.Of(reason.Mended)})
	default:
		p.add(Note{Why: why, Wrong: true})
	}
	s.complaint.trouble = why
}
