package protocol

import "github.com/wasmjob/wasmjob/host/reason"

// Instants that nobody began get a row from who comes to own their item, which
// need not have been a member then, or may have had no items. What kept this
// server from that it knows, and says so.

// away is what this server was kept from its items by, and until when.
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
