package protocol

import (
	"fmt"
	"slices"

	"github.com/wasmjob/wasmjob/host/reason"
)

// observe derives from the view what the State remembers and what rules look at. It also
// reports troubles and begins to leave if it must. Step calls it before rules decide.
func (s *State) observe(p *Plan) {
	v := s.view
	s.seeAway()
	s.seeSelf(p)
	s.seeLingering()
	s.seeRemoval()
	if s.seeNodesGone(p) {
		return
	}
	if s.self != "" && !s.session.leaving && v.instance(s.self) == nil && !s.removing() {
		// ElasticJob shuts the job down at one instance by deleting its node.
		s.session.leaving = true
		p.add(Note{Why: reason.Of(reason.InstanceNodeRemoved)})
		p.add(Drain{Why: reason.Of(reason.StopOrdered)})
	}
	s.bar(p)
	if v.Necessary || v.Processing || v.unadopted() || v.departed() { // a reshard is asked for, or going on
		if s.reshard.since == 0 {
			s.reshard.since = s.now
		}
	} else {
		s.reshard.since, s.reshard.waitFrom = 0, 0
	}
	s.seeStrayProcessing()
	s.seeGone()
	s.queued(p)
	s.seeSchedule()
	s.seeTotal()
	s.followSchedule(p)
	s.reportPauseOver(p)
	if c := v.Config; c != nil && c.ReconcileEvery > 0 && s.self != "" && s.now >= s.timers.reread+c.ReconcileEvery {
		s.timers.reread = s.now
		p.add(Reread{})
	}
	switch {
	case s.meetsRest():
		s.complain(p, s.restStays())
	case v.RecordFault != "":
		s.complain(p, reason.Of(reason.RecordUnreadable, v.RecordFault))
	case v.ConfigFault != "":
		s.complain(p, reason.Of(reason.ConfigUnreadable, v.ConfigFault))
	case s.self != "" && v.Config == nil:
		s.complain(p, reason.Of(reason.ConfigGone))
	case s.self != "" && s.foreignBlocker() != "":
		s.complain(p, reason.Of(s.foreignBlocker()))
	default:
		s.complain(p, s.waitsForAddress())
	}
	s.deleteRest(p)
	s.seeFuture(p)
	s.seeServers()
	s.watchForeign()
	s.watchRounds()
	s.prepare(p)
	if own := s.own(); own != nil && v.RecordFault == "" {
		s.handRows(own, p)
	}
}

// seeSelf notices that this server has become a member.
func (s *State) seeSelf(p *Plan) {
	if s.self != "" {
		return
	}
	for _, m := range s.view.Members {
		if m.Owner == s.o.Session {
			s.self = m.ID
			s.o.Define = Definition{} // large, and not needed any more
			s.timers.reread = s.now
			s.seeCompany()
			p.add(Note{Why: reason.Of(reason.Joined, string(m.ID))})
		}
	}
}

// join registers the member: first it creates the job's nodes, then its own. It notes which
// members it finds, for catching up. Once it is a member, it only creates deleted parents
// again.
func join(s *facts) Mutation {
	v := s.view
	if s.self != "" {
		return s.setUpAgain()
	}
	if s.session.leaving {
		s.note(neverJoins{})
		return nil
	}
	if v.ConfigFault != "" || s.o.Barred || s.removed() || v.Rest || !s.waitsForAddress().None() {
		return nil
	}
	if v.Config == nil || !v.complete() || !v.Parents.Latch { // Setup creates what is missing
		if v.Config == nil && s.o.Define.Config == nil {
			return nil // the job was removed, or another server is to define it
		}
		return Setup{s.o.Define}
	}
	m := met{s.unattendedUntil(), s.lingerers()}
	s.note(m)
	return Join{ID: s.freeID(), Disabled: v.Config.Disabled, Labels: s.o.Labels, Address: s.o.Address, Defines: s.o.Defines, Unattended: m.empty}
}

// waitsForAddress is why a member cannot join yet: the layout has one member at an address,
// and another one is there, or has left a node there that no session holds. None otherwise.
func (s *State) waitsForAddress() reason.Reason {
	v, ip := s.view, s.o.Base.IP()
	if s.self != "" || !v.ByAddress {
		return reason.Reason{}
	}
	taken := slices.ContainsFunc(v.Instances, func(in Instance) bool { return in.ID.IP() == ip }) ||
		slices.ContainsFunc(v.Ghosts, func(id ID) bool { return id.IP() == ip })
	if !taken {
		return reason.Reason{}
	}
	return reason.Of(reason.AddressTaken, ip)
}

// neverJoins: the member was asked to leave before it had joined.
type neverJoins struct{}

// keep ends the membership before it has begun.
func (neverJoins) keep(s *State, p *Plan) {
	s.session.ended = true
	p.add(Stop{})
}

// met is the members that were present when this one joined.
type met struct {
	empty     int64 // when it joined, if no other member was present
	lingering *lingering
}

// keep notes what the member has found; seeLingering finds out which members were dead.
func (m met) keep(s *State, _ *Plan) {
	s.backlog.catchUp.empty, s.backlog.catchUp.lingering = m.empty, m.lingering
}

// setUpAgain creates deleted parents of the job's nodes again, if the configuration still
// exists. Only the reclaimer does it, so that members do not all try.
func (s *State) setUpAgain() Mutation {
	v := s.view
	if !s.company.reclaims || s.session.leaving || v.Config == nil || v.complete() || s.removing() {
		return nil
	}
	return Setup{}
}

// freeID returns the first of base, base-1, … that occurs nowhere in the job. With an id
// that occurs, a new member would inherit what its former member left.
func (s *State) freeID() ID {
	id := s.o.Base
	for n := 1; s.view.occurs(id); n++ {
		id = ID(fmt.Sprintf("%s-%d", s.o.Base, n))
	}
	return id
}

// occurs reports whether some node of the job names the id.
func (v *View) occurs(id ID) bool {
	if v.instance(id) != nil || slices.Contains(v.Ghosts, id) || v.member(id) || v.runs(id) != nil || v.Leader == id ||
		slices.Contains(v.Assignment.Owners, id) || slices.Contains(v.Assignment.Members, id) {
		return true
	}
	if v.Fires.Started.By == id || v.Fires.Completed.By == id {
		return true
	}
	for _, it := range v.Items {
		if it.Owner == id || it.Failover == id {
			return true
		}
	}
	for _, p := range v.Pending {
		if p.Dead == id {
			return true
		}
	}
	return false
}

// setServer creates this member's server node again if it was deleted, as a clean-up may do
// in a race.
func setServer(s *facts) Mutation {
	if s.self == "" || s.session.leaving || s.view.instance(s.self) == nil || s.view.hasServer(s.self.IP()) || s.removing() {
		return nil
	}
	return SetServer{IP: s.self.IP()}
}

// leave ends the membership once nothing is open, every row is stored and no request waits.
// Before that, begin declines a waiting request, and account settles what waits here. What the
// record has besides rows and runs goes to the assignment.
func leave(s *facts) Mutation {
	own := s.own()
	if !s.session.leaving || s.self == "" {
		return nil
	}
	if own == nil || s.triggered() {
		return nil
	}
	if len(own.Open) > 0 || len(s.guests.all) > 0 || len(own.Retries) > 0 || len(own.Triggers) > 0 || len(s.history.unstored(own)) > 0 || s.listener.call != nil || !s.view.Assignment.Exists {
		return nil
	}
	next := s.view.Assignment.clone()
	next.fold(own.RunsData)
	next.Flow.add(own.Flow)
	next.Results.add(own.Results)
	next.Tallies = withTallies(next.Tallies, own.Tallies)
	next.Schedules = s.schedule.known
	return s.leaveOwners(Leave{Self: s.self, Next: next})
}

// absence is a server without an instance, and since when that is so.
type absence struct {
	ip    string
	since int64
}

// seeServers notes since when each server has no instance, the longest first. Only the leader
// prunes servers. A disabled one has an operator's setting, and an occupied one a node that
// is not ours, so these stay.
func (s *State) seeServers() {
	if s.o.PruneAfter == 0 || !s.company.leads {
		s.absent = nil
		return
	}
	var next []absence
	for _, sv := range s.view.Servers {
		if sv.Disabled || sv.Occupied || slices.ContainsFunc(s.view.Instances, func(in Instance) bool { return in.ID.IP() == sv.IP }) {
			continue
		}
		since := s.now
		if k := slices.IndexFunc(s.absent, func(a absence) bool { return a.ip == sv.IP }); k >= 0 {
			since = s.absent[k].since
		}
		next = append(next, absence{sv.IP, since})
	}
	slices.SortFunc(next, func(a, b absence) int {
		if a.since != b.since {
			return int(min(max(a.since-b.since, -1), 1))
		}
		return compare(a.ip, b.ip)
	})
	s.absent = next
}

// pruneServers removes nodes of servers that have had no instance for long. The node of a
// disabled server stays, because it has an operator's setting.
func pruneServers(s *facts) Mutation {
	var ips []string
	for _, a := range s.absent { // no disabled ones: see seeServers
		if s.now >= a.since+s.o.PruneAfter {
			ips = append(ips, a.ip)
		}
	}
	if len(ips) == 0 || !s.company.leads {
		return nil
	}
	return PruneServers{IPs: ips}
}
