package protocol

import "github.com/wasmjob/wasmjob/host/reason"

// An instant that no member began gets its row from the next owner of its item. That
// server may not have been a member at the time, or may have had no items. It knows the
// reason for that, and the row gives it.

// away is the reason that kept this server from its items, and until when.
type away struct {
	why   reason.Code
	until int64
}

func (s *State) seeAway() {
	switch {
	case s.self == "" && s.o.Barred:
		s.backlog.away = away{reason.NotBegunBarred, s.now}
	case s.self == "" && s.o.Lost && s.backlog.away.why == "":
		s.backlog.away = away{reason.NotBegunRegistryLost, s.now}
	case s.self == "" && s.backlog.away.why != "": // until it has joined
		s.backlog.away.until = s.now
	case s.self != "" && s.disabledHere():
		s.backlog.away = away{reason.NotBegunServerDisabled, s.now}
	}
}

// gone is the newest owner of an item that was gone while it had it, and until when.
type gone struct {
	by    ID
	until int64
}

// seeGone notes owners that are gone. A member that was there meanwhile knows so why nobody began
// their items.
func (s *State) seeGone() {
	if s.self == "" || s.reshard.since == 0 { // else no owner is gone for long
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
