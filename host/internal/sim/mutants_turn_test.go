package sim

// turnMutants take answers for others, or go on before they may, between the
// registry and the core.
func turnMutants() []mutant {
	return []mutant{
		{"turn: reads not repeated", "what a lost connection kept from being read is read on the next one", []change{without("follow.Loop.Repeat", "l.mirror.Failed(_)")}},
		{"turn: doubt kept back", "the core hears before anything else that the session is in doubt", []change{in("follow.Loop.Trust", "level != l.doubt", "false")}},
		{"turn: end not shown", "the end of a transaction is shown, even if it changed nothing", []change{without("follow.Loop.Answered", "l.answered = true")}},
		{"turn: marks never read", "marks of runs that wait are read", []change{without("follow.Loop.Waited", "if _ {}")}},
	}
}
