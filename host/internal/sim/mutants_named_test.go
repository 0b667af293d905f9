package sim

// namedMutants leave out rules and fences of which the other lists have no
// mutant.
func namedMutants() []mutant {
	return []mutant{
		{"join: never", "a server becomes a member", []change{noRule("join")}},
		{"leave: never", "who is told to end leaves", []change{noRule("leave")}},
		{"complete: never", "a run whose guest has ended is closed", []change{noRule("complete")}},
		{"operate: never", "what an operator asks for is done", []change{noRule("operate")}},
		{"reshard: never", "items get owners", []change{noRule("reshard")}},
		{"missed: never", "what came while nobody was there has its row before the next instant", []change{noRule("missed")}},
		{"missed: twice", "what has its row at the start is accounted for", []change{without("protocol.missed", "m.Own.Last = set(_, _, _)")}},
		{"begin: never", "what is due begins", []change{noRule("begin")}},
		{"swap: unpublished", "a member says that it has the next module", []change{noRule("publish")}},
		{"swap: never", "a module that all have is switched", []change{noRule("switch-module")}},
		{"adopt: asked meanwhile", "nobody whose items move was asked since the adoption was decided", []change{noFence("adopt/requests")}},
		{"swap: any version", "a module is switched only if nobody has defined another since", []change{noFence("switch/module")}},
		{"define: module unchecked", "a definition derived from an older module is refused, also when it comes late", []change{noFence("define/module")}},
		{"leave: any epoch", "who leaves writes its last instants into the assignment that was read", []change{noFence("leave/epoch")}},
	}
}

// unnoticed are rules and fences that have no mutant, and why.
func unnoticed() map[string]string {
	return map[string]string{
		"clear-processing": "the next leader's reshard takes the mark away as well; what it does until then is in reshard_foreign_lead_lost.txt",
		"join-round":       "no simulated job has listeners of ElasticJob's; guarantee.txt",
		"record-taken":     "the ledger does not ask who took a run of ours; record_taken.txt, record_taken_unknown.txt",

		"adopt/epoch":             "who sets the assignment meanwhile also writes a record, or takes the seal away; both are checked",
		"reclaim-foreign/epoch":   "who sets the assignment meanwhile also writes a record that is checked",
		"reshard/epoch":           "who sets the assignment meanwhile also writes a record or the mark; both are checked",
		"reshard-parts/joins":     "who joins raises the version of the mark, so the parts do not go on, and the next reshard has its items",
		"owners/epoch":            "another deal in parts also sets the mark, which owners/joins checks; without both: parts: deal unchecked",
		"owners/joins":            "another deal sets the assignment, which owners/epoch checks; who has joined has no item yet",
		"owners-last/joins":       "the mark comes back by level, see the rule mark-reshard",
		"owners/owner":            "only a leader writes owners: one of ours sets the assignment as well, one of ElasticJob takes the mark away",
		"strip/owners":            "as owners/owner",
		"clear-marks/own":         "no seed has seen it: a clearing without an answer has to be carried out after the next begin of the item",
		"unpend/pending":          "seen once in ten thousand seeds, beside ElasticJob: a drop that comes after a new leader has named the run; drop_foreign_named.txt",
		"set-fires/own":           "who tells sets the node of fires, whose version set-fires/fires checks",
		"record-missed/joins":     "no simulated registry has a job that no server runs; TestNoServerHoldsWhileNobodyComes",
		"request-trigger/request": "a request that is written over another, or over none, is what the operator asked for",
		"begin/request":           "a request that is written over one which waits is answered with it",
		"disable-server/server":   "an operator's word replaces what was said before, whatever that was",
		"reclaim/dead":            "the dead write nothing; who else ends the record sets the assignment, which reclaim/epoch checks",
		"leave/record":            "no seed has seen it: a set of the record without an answer has to be carried out after the view that lets the member leave",
	}
}
