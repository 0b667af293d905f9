package sim

// turnMutants misread answers, or go on too early, between the registry and the core.
func turnMutants() []mutant {
	return []mutant{
		{"turn: unknown is refused", "a transaction without an answer may have been applied", []change{in("follow.Loop.Answered", "in.Outcome = protocol.Unknown", "in.Outcome = protocol.Refused")}},
		{"turn: nothing read again", "what a transaction without an answer did is read", []change{without("follow.Loop.Answered", "l.reread = true")}},
		{"turn: sync not awaited", "no view is shown while a sync is under way", []change{in("follow.Loop.Look", "l.syncing", "false")}},
		{"turn: reads not repeated", "what a lost connection kept from being read is read on the next one", []change{without("follow.Loop.Repeat", "l.mirror.Failed(_)")}},
		{"turn: size not reported", "a member that writes more than the registry takes writes less", []change{without("follow.Loop.Answered", "in.TooLarge = true")}},
		{"turn: no pause", "what is refused for ever is tried ever less often", []change{in("follow.Loop.sync", "int(l.refusals) - freeRefusals", "0")}},
		{"turn: doubt kept back", "the core gets the doubt of the session before anything else", []change{in("follow.Loop.Trust", "level != l.doubt", "false")}},
		{"turn: end not shown", "the end of a transaction is shown, even if it changed nothing", []change{without("follow.Loop.Answered", "l.answered = true")}},
		{"turn: marks never read", "marks of runs that wait are read", []change{without("follow.Loop.Waited", "if _ {}")}},
	}
}
