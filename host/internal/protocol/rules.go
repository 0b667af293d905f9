package protocol

// rule may return a mutation. The name lets a mutant leave it out.
type rule struct {
	name   string
	decide func(*facts) Mutation
}

// rules are asked in this order; the first mutation is the decision. Each rule looks at the
// whole view, whatever the input was, so a lost event changes nothing. The list never
// changes.
var rules = []rule{
	{"join", join},
	{"withdraw", withdraw},
	{"leave", leave},
	{"set-server", setServer},
	{"abdicate", abdicate},
	{"elect", elect},

	{"next-attempt", nextAttempt},
	{"complete", complete},

	{"reclaim", reclaim},
	{"reclaim-foreign", reclaimForeign},
	{"take", take},
	{"fulfil-request", fulfilRequest},
	{"mark-reshard", markReshard},
	{"clear-processing", clearProcessing},
	{"reshard", reshard},
	{"adopt", adopt},

	{"mark-misfire", markMisfire},
	{"begin", begin},
	{"missed", missed},
	{"drop", drop},
	{"join-round", joinRound},
	{"call-listeners", callListeners},

	{"account", account},
	{"record-taken", recordTaken},
	{"clear-marks", clearMarks},
	{"forget", forget},
	{"prune-servers", pruneServers},
	{"count", count},

	{"publish", publish},
	{"switch-module", switchModule},
}
