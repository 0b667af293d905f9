package sim

// namedMutants leave out the rules and fences that no other list leaves out.
func namedMutants() []mutant {
	return []mutant{
		{"join: never", "a server becomes a member", []change{noRule("join")}},
		{"leave: never", "a member that is asked to leave leaves", []change{noRule("leave")}},
		{"complete: never", "a run whose guest has ended is closed", []change{noRule("complete")}},
		{"request: never", "an operator's request is carried out", []change{noRule("fulfil-request")}},
		{"reshard: never", "items get owners", []change{noRule("reshard")}},
		{"missed: never", "instants that passed while no server was there have their rows before the next instant", []change{noRule("missed")}},
		{"missed: twice", "what has its row at the start is accounted for", []change{without("protocol.missed", "m.Own.Last = set(_, _, _)")}},
		{"begin: never", "what is due begins", []change{noRule("begin")}},
		{"switch-module: unpublished", "a member reports that it has the next module", []change{noRule("publish")}},
		{"switch-module: never", "a module that all have is switched", []change{noRule("switch-module")}},
		{"adopt: asked meanwhile", "no member whose items move was triggered since the adoption was decided", []change{noFence("adopt/requests")}},
		{"switch-module: any version", "a module is switched only if no other was defined since", []change{noFence("switch/module")}},
		{"define: module unchecked", "a definition derived from an older module is refused, also when it comes late", []change{noFence("define/module")}},
		{"leave: any epoch", "a leaving member writes its last instants into the assignment that was read", []change{noFence("leave/epoch")}},
	}
}

// unnoticed are the rules and fences without a mutant here, each with the reason. Those
// with the name of a script have one in rare_mutants_test.go of overlay.
func unnoticed() map[string]string {
	return map[string]string{
		"setup/removal":        "a job has to be made, and its removal cut off, while another setup is on its way; removed_rest_setup.txt",
		"clear-processing":     "the next leader's reshard removes the mark as well; what the rule does before is in reshard_foreign_lead_lost.txt",
		"count":                "no simulated job is a dataflow of layout 1; count.txt",
		"take/records":         "a member of ElasticJob has to create the node of the pending run while the take is on its way; take_foreign_late.txt",
		"begin/records":        "as take/records",
		"drop/records":         "as take/records; drop_foreign_returns.txt",
		"reclaim/records":      "one seed in more than ten thousand shows it: the item has to move, and to begin, while a reclaim is on its way; reclaim_check.txt",
		"begin/joins":          "a new member has to take the run and end it besides; begin_joined.txt",
		"adopt/joins":          "one seed in a hundred thousand shows it: a member joins and takes while an adoption is on its way; adopt_joined.txt",
		"clear-marks/assigned": "marks outlive sessions in layout 3 alone; clear_marks_foreign_assigned.txt",
		"clear-marks/taken":    "as clear-marks/assigned; clear_marks_foreign_stale.txt",
		"clear-marks/away":     "as clear-marks/assigned; clear_marks_foreign_back.txt",
		"clear-marks/begun":    "as clear-marks/assigned; clear_marks_foreign_taken.txt",
		"pend/assigned":        "as clear-marks/assigned; reclaim_layout3_assigned.txt",
		"request-trigger/gone": "requests have nodes of their own in layout 3 alone; TestRequestsOfTheirOwn",
		"record-taken":         "the ledger does not ask which member took a run of ours; record_taken.txt, record_taken_unknown.txt",

		"adopt/epoch":             "every other writer of the assignment also sets a record or deletes the seal; both are checked",
		"reclaim-foreign/epoch":   "every other writer of the assignment also sets a record that is checked",
		"reshard/epoch":           "every other writer of the assignment also sets a record or the mark; both are checked",
		"reshard-parts/joins":     "a join raises the version of the mark, so the parts stop, and the next reshard includes the member",
		"owners/epoch":            "another reshard in parts also sets the mark, which owners/joins checks; without both: parts: assignment unchecked",
		"owners/joins":            "another reshard sets the assignment, which owners/epoch checks; a new member has no item yet",
		"owners-last/joins":       "the mark comes back by level, see the rule mark-reshard",
		"owners/owner":            "only a leader writes owners: one of ours sets the assignment as well, a foreign one removes the mark",
		"delete-owners/owners":    "as owners/owner",
		"clear-marks/own":         "no seed has seen it: a clear without answer would have to be applied after the next begin of the item",
		"delete-pending/pending":  "one seed in ten thousand shows it, beside foreign members: a drop that arrives after a new leader has reclaimed the run; drop_foreign_named.txt",
		"drop/epoch":              "one seed in some thousands shows it: a drop that arrives late, when an operator has asked for the same item anew; 5100004415, drop.txt",
		"set-fires/own":           "every caller sets the node of fires, whose version set-fires/fires checks",
		"record-missed/joins":     "no simulated registry has a job that no server runs; TestNoServerHoldsUntilAMemberJoins",
		"request-trigger/request": "a request written over another one, or over none, is what the operator wanted",
		"begin/lead":              "once our leader has assigned items beside foreign members, begin/first or begin/owners refuses such a begin as well; before: begin_foreign_leads.txt",
		"begin/request":           "a request written over a waiting one is answered with it",
		"disable-server/server":   "an operator's setting replaces the one before, whatever that was",
		"reclaim/dead":            "a dead member writes nothing; any other reclaim of it sets the assignment, which reclaim/epoch checks",
		"request-trigger/epoch":   "the ledger does not ask whether a trigger reached each owner; ask_trigger_race.txt",
		"request-trigger/lead":    "as request-trigger/epoch; ask_trigger_lead.txt",
		"request-trigger/seal":    "as request-trigger/epoch; ask_trigger_seal.txt",
		"put-backfill/epoch":      "the simulated operator asks for a backfill with the newest view; ask_backfill_race.txt",
		"leave/record":            "no seed has seen it: a set of the record without answer would have to be applied after the view on which the member leaves",
	}
}
