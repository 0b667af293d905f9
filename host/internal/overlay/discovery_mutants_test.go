package overlay

// discoveryMutants leave out pieces that candidates depend on. The random tests notice
// each.
func discoveryMutants() []mutant {
	undefined := notice{"../discovery", "^TestUndefined$"}
	by := notice{"../discovery", "^TestWhateverHappens$"}
	return []mutant{
		{"discovery: two at once", "nothing of a candidate begins while something else of it is under way", in("discovery.candidate.look", "c.phase != resting", "false"), by},
		{"discovery: change forgotten", "what changes while a candidate is looked at has it looked at again", in("discovery.candidate.rest", "c.again || c.yields", "c.yields"), by},
		{"discovery: starts beside the file", "what the file has come to have is not started as a candidate", in("discovery.candidate.fits", "s.closed || c.yields", "s.closed"), by},
		{"discovery: not withdrawn", "what runs as a candidate ends for the file's job", without("discovery.candidate.yield", "p.add(Withdraw{Name: c.name})"), by},
		{"discovery: removed goes on", "what the registry does not have any more is withdrawn", in("discovery.candidate.changed", "in.Removed", "false"), by},
		{"discovery: blocked goes on", "what this server may not run as it is now is withdrawn", in("discovery.candidate.changed", "len(in.Blockers) > 0", "false"), by},
		{"discovery: not prefetched", "the code of a job that was changed is prepared at once", without("discovery.candidate.changed", "p.add(Prefetch{c.name})"), by},
		{"discovery: gone unseen", "a candidate that the list has no more is looked at", in("discovery.State.seeList", "!there[name]", "false"), by},
		{"discovery: given up", "what may run after a while is tried again", in("discovery.candidate.refused", "again && !s.closed", "false"), by},
		{"discovery: shut for ever", "what was shut down is another job when its configuration was made anew", in("discovery.candidate.looked", "c.created != in.Created", "false"), by},
		{"undefined: reported again", "a job that no file defines is reported once", without("discovery.State.undefinedReported", "s.reported = true"), undefined},
		{"undefined: lost again", "and once after the file has lost it", without("discovery.State.undefinedReported", "delete(s.lost, name)"), undefined},
		{"undefined: in the file", "but not while the file has it", in("discovery.State.Undefined", "s.own[name]", "false"), undefined},
		{"discovery: list changes", "what changes while the list is read has it read again", in("discovery.State.listOnceMore", "s.listAgain", "false"), by},
	}
}

// finderMutants leave out pieces of the code that carries out decisions about candidates.
func finderMutants() []mutant {
	next := notice{"../finder", "^TestJobsAreFollowedInTheNextSession$"}
	return []mutant{
		{"found: old session", "a candidate whose session has ended is read in another one", in("finder.candidate.openSession", "anew", "false"), next},
		{"found: end unseen", "a candidate learns that the session which it was read in has ended", without("finder.candidate.Event", "c.f.step(discovery.SessionEnded{Name: c.name})"), next},
		{"found: old list", "the list of jobs is read in another session when its own has ended", in("finder.Finder.Event", "f.lost = true", "f.lost = false"), next},
		{"found: key unseen", "and so is one of which a key changes that is a node", in("finder.candidate.Event", `strings.HasPrefix(e.Path, config+"/")`, "false"), notice{"../..", "^TestAServerFindsAJobOfKeys$"}},
		{"found: change unseen", "a candidate whose definition changes is looked at again", in("finder.candidate.Event", "ofMembers || e.Path == config || _ || e.Path == module", "ofMembers || e.Path == config+module"), notice{"../..", "^TestAServerDoesNotJoinWhatItMayNotRun$"}},
		{"found: shut unseen", "a job that an operator shut down on a server does not start there again", in("finder.candidate.start", "discovery.Ended{Name: c.name, Asked: asked}", "discovery.Ended{Name: c.name, Asked: true || asked}"), notice{"../..", "^TestAShutDownEndsWithItsJob$"}},
	}
}
