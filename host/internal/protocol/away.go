package protocol

import "github.com/wasmjob/wasmjob/host/reason"

// An instant that no member began gets its row from the next owner of its item. If that
// owner's server was not a member at the time, or had no items, the row gives the reason,
// which this server knows.

// away is why this server had none of its items, and until when.
type away struct {
	why   reason.Code
	until int64
}

// seeAway notes why this server has no items at present: it must not run the job, it had lost
// the registry and has not joined again, or an operator has disabled it. Instants that pass
// meanwhile get this reason in their rows, if no other server begins them: see whyNoServer.
func (s *State) seeAway() {
	switch {
	case s.self == "" && s.o.Barred:
		s.backlog.away = away{reason.NotBegunBarred, s.now}
	case s.self == "" && s.o.Lost && s.backlog.away.why == "":
		s.backlog.away = away{reason.NotBegunRegistryLost, s.now}
	case s.self == "" && s.backlog.away.why != "": // it lasts until the server has joined
		s.backlog.away.until = s.now
	case s.self != "" && s.disabledHere():
		s.backlog.away = away{reason.NotBegunServerDisabled, s.now}
	}
}

// gone is an item's newest owner that was dead while it owned the item, and until when.
type gone struct {
	by    ID
	until int64
}

// seeGone notes owners that are dead, so this member can say later why no server began
// their items.
func (s *State) seeGone() {
	if s.self == "" || s.reshard.since == 0 { // without a reshard in progress no owner is dead for long
		return
	}
	for i := range s.view.total() {
		by := s.view.Assignment.owner(i)
		if by == "" || !s.view.dead(by) {
			continue
		}
		for len(s.backlog.gone) <= i {
			s.backlog.gone = append(s.backlog.gone, gone{})
		}
		s.backlog.gone[i] = gone{by, s.now}
	}
}
