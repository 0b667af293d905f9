package protocol

import (
	"fmt"
	"slices"

	"github.com/wasmjob/wasmjob/host/internal/backoff"
	"github.com/wasmjob/wasmjob/host/reason"
)

// stale reports whether the assignment no longer fits the members, the total, or the
// owners' nodes.
func (s *State) stale(eligible []ID) bool {
	v := s.view
	a := &v.Assignment
	total := v.total()
	if !a.fits(total, eligible) {
		return true
	}
	for i := range total {
		it := v.item(i)
		if !it.Exists || it.Owner != a.owner(i) || !slices.Contains(eligible, it.Owner) {
			return true
		}
	}
	// A foreign leader assigns nothing to members that join while it assigns.
	if v.departed() || v.Sealed && v.someoneWithout() {
		return true
	}
	// Surplus items go, except nodes that cannot be deleted.
	for i := total; i < len(v.Items); i++ {
		if v.Items[i].Exists && (!v.Items[i].holdsNothingOfOurs() || !s.nodeStays(i)) {
			return true
		}
	}
	return false
}

// markReshard requests a reshard by level: even after a missed event, the leader sees that
// the assignment does not fit.
func markReshard(s *facts) Mutation {
	if s.view.Necessary || s.removing() || s.config() == nil || !s.view.Assignment.Exists {
		return nil
	}
	requests := s.reshard.requests
	if requests > 0 && !slices.Equal(s.view.eligible(), s.reshard.requestedFor) {
		requests = 0
		s.note(membersChanged{})
	}
	if s.company.reclaims && !s.company.leads && (s.strayProcessing() || s.ownerGone() || s.schedule.tick.At == 0 && s.memberLeftOut(requests)) {
		return MarkReshard{} // set while an instant is due, it would make that wait for the next, at which the leader assigns
	}
	if !s.company.leads || s.session.leaving {
		return nil
	}
	el := s.view.eligible()
	if len(el) == 0 || !s.stale(el) && !s.view.Processing { // a reshard also removes the mark of a dead member
		return nil
	}
	return MarkReshard{}
}

// reshard assigns all items. It waits until dead members are reclaimed. It also waits until no
// item that would move or vanish is running. If that takes long, it leaves such items with their
// owners, to move when their runs have ended, and assigns the others.
func reshard(s *facts) Mutation {
	v := s.view
	if !s.company.leads || s.session.leaving || s.session.health != Trusted || !v.Necessary || s.config() == nil || !v.Assignment.Exists || s.deadRecord() != nil || s.tooEarly() {
		return nil
	}
	el := v.eligible()
	if len(el) == 0 {
		return nil
	}
	if s.ownAssignmentSet(el) {
		return s.writeOwners() // the parts that follow an assignment
	}
	req := s.request(el)
	asked, answer := s.reshard.asked, s.reshard.answer
	if answer != nil && answer.Fault != "" && s.now >= s.reshard.retry {
		asked, answer = nil, nil // it is asked again
	}
	if answer == nil || !answer.Request.equal(req) {
		if asked == nil || !asked.equal(req) {
			s.note(asks{req})
			s.add(Assign{req})
		}
		return nil
	}
	if answer.Fault != "" {
		return s.restore(el)
	}
	next := v.Assignment.clone()
	next.Total, next.Members, next.Departing = req.Total, el, nil
	next.Owners = make([]ID, req.Total)
	for k, items := range answer.Items {
		for _, i := range items {
			next.Owners[i] = el[k]
		}
	}
	if s.movesRunning(&next) && !s.depart(&next) {
		return nil
	}
	check := s.recorded(&next)
	own := s.next(s.own())
	seq := own.Seq
	s.accountFor(&next, &own)
	s.unaccepted(&next, &own)
	m := Reshard{Check: check, Moving: s.moving(&next), Next: next}
	if own.Seq > seq { // rows were added
		m.Self, m.Own = s.self, own
	}
	if s.company.shared {
		m.DeleteOwners = s.differingOwners(&next, s.room())
		m.Pause = len(m.DeleteOwners) > 0 || v.hasOwnerlessItem()
	}
	if o := s.owners(&next, s.room()); o.Last && !m.Pause {
		m.Remove, m.Clear = o.Remove, o.Clear
	} else {
		m.Parts = true                             // the owners' nodes are written by Owners
		s.used = &room{items: len(m.DeleteOwners)} // no other items are in this transaction
	}
	return m
}

// hasOwnerlessItem reports whether an item has no owner's node. Which member deleted the
// node, and when, is unknown, so foreign caches may not have followed yet.
func (v *View) hasOwnerlessItem() bool {
	return slices.ContainsFunc(v.Items[:min(v.total(), len(v.Items))], func(it Item) bool { return it.Exists && it.Owner == "" })
}

// asks: the strategy was asked.
type asks struct{ req AssignRequest }

// keep notes the question, which has no answer yet.
func (a asks) keep(s *State, _ *Plan) { s.reshard.asked, s.reshard.answer = &a.req, nil }

// strategyRetried: a strategy that failed is asked again at once.
type strategyRetried struct{}

// keep ends the pause before the strategy is asked again.
func (strategyRetried) keep(s *State, _ *Plan) { s.reshard.retry = 0 }

// membersChanged: no foreign leader was asked yet on behalf of the present members.
type membersChanged struct{}

// keep begins a new count of requests.
func (membersChanged) keep(s *State, _ *Plan) { s.reshard.requests = 0 }

// clearProcessing removes the mark of a reshard that this member began while it led.
func clearProcessing(s *facts) Mutation {
	if s.company.leads || !s.view.Processing || s.view.ProcessingOwner != s.o.Session || s.self == "" {
		return nil
	}
	return ClearProcessing{}
}

// How long, in ms, a strategy is not asked again: after one failure, and after many in a
// row.
const (
	firstRetry = 1_000
	lastRetry  = 30_000
)

// answered stores the strategy's answer. If the strategy failed, or did not give each item
// to one of the instances, it is asked again later, and less often with each failure in a
// row. After a single failure the retry is soon, since items may be without a server.
func (s *State) answered(in Assigned, p *Plan) {
	if in.Fault == "" {
		in.Fault = in.unusable()
	}
	s.reshard.answer = &in
	if in.Fault == "" {
		s.reshard.failures = 0
		return
	}
	s.reshard.failures++
	s.reshard.retry, s.reshard.ownerless = s.now+backoff.After[int64](firstRetry, lastRetry, s.reshard.failures), ownerless{}
	p.add(Note{Why: reason.Of(reason.StrategyFailed, in.Fault)})
}

// unusable is why an answer does not give each item to exactly one of the instances that were
// asked for; "" if it does.
func (in Assigned) unusable() string {
	owned := make([]bool, in.Request.Total)
	for k, items := range in.Items {
		for _, i := range items {
			switch {
			case k >= len(in.Request.Instances):
				return fmt.Sprintf("item %d is given to nobody who is there", i)
			case i < 0 || i >= in.Request.Total:
				return fmt.Sprintf("there is no item %d", i)
			case owned[i]:
				return fmt.Sprintf("item %d has two owners", i)
			}
			owned[i] = true
		}
	}
	if i := slices.Index(owned, false); i >= 0 {
		return fmt.Sprintf("item %d has no owner", i)
	}
	return ""
}

// request is the question to the strategy: how to assign the items to these eligible members,
// given what each had before.
func (s *State) request(el []ID) AssignRequest {
	v := s.view
	r := AssignRequest{Strategy: v.Config.Strategy, Shared: s.company.shared, Instances: el, Total: v.total(), Epoch: v.Assignment.Version}
	for _, id := range el {
		r.Labels = append(r.Labels, v.labels(id))
	}
	r.Previous = make([][]int, len(el))
	for i, o := range v.Assignment.Owners {
		if k := slices.Index(el, o); k >= 0 {
			r.Previous[k] = append(r.Previous[k], i)
		}
	}
	return r
}

// equal reports whether an answer to the one question answers the other. Previous and Labels
// need not be compared: while the epoch and the instances are the same, so are they.
func (r AssignRequest) equal(o AssignRequest) bool {
	return r.Strategy == o.Strategy && r.Shared == o.Shared && r.Total == o.Total && r.Epoch == o.Epoch && slices.Equal(r.Instances, o.Instances)
}

// deadRecord is the record of a dead member that has not been reclaimed yet; nil if
// there is none.
func (s *State) deadRecord() *Runs {
	for k := range s.view.Runs {
		if d := &s.view.Runs[k]; s.view.dead(d.ID) {
			return d
		}
	}
	return nil
}
