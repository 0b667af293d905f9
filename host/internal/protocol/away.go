package protocol

// Instants that nobody began get a row from who comes to own their item, which
// need not have been a member then, or may have had no items. What kept this
// server from that it knows, and says so.

// away is what this server was kept from its items by, and until when.
type away struct {
	why   string
	until int64
}

func (s *State) seeAway() {
	switch {
	case s.self == "" && s.o.Barred:
		s.away = away{"this server was not allowed to run the job", s.now}
	case s.self == "" && s.o.Lost && s.away.why == "":
		s.away = away{"this server had lost the registry", s.now}
	case s.self == "" && s.away.why != "": // until it has joined
		s.away.until = s.now
	case s.self != "" && s.disabledHere():
		s.away = away{"this server was disabled", s.now}
	}
}
