package overlay

// sessionMutants leave out pieces of three parts: how jobs are notified of a session
// health that comes and goes, how two callers close the same job session, and how fresh
// a view a request needs.
func sessionMutants() []mutant {
	by := func(test string) notice { return notice{"../session", "^" + test + "$"} }
	runner := notice{"../runner", "^TestAskGoesByWhatTheRegistryHas$"}
	idle := notice{"../runner", "^TestAskWhileNothingIsWritten$"}
	operator := func(test string) notice { return notice{"../../operator", "^" + test + "$"} }
	return []mutant{
		{"health: regained for a moment", "a doubt that comes back before the next check is told", in("session.monitor.healthForJob", "health < m.reported", "false"), by("TestDoubtIsReportedAfterAMomentOfTrust")},
		{"health: regained unseen", "a doubt is told again to a job that has seen trust in between", in("session.openSession.watch", "!regained", "true"), by("TestDoubtIsReportedAfterTrustThatOneJobHasSeen")},
		{"job session: closed without an answer", "what removes the nodes of a job session is settled before its next life", in("session.Job.removeNodes", "j.recordResult(_, _, _)", "if err == nil {\nj.recordResult(ops[:size], receipt, err)\n}"), by("TestJobSessionIsClosedByTwo")},
		{"job session: settled by an older sync", "a sync settles nothing that was sent after it", in("session.Job.settleUnknown", "max(j.settled, unknown)", "max(j.unknown, unknown)"), by("TestJobSessionIsClosedByTwo")},
		{"request: by what was seen", "a server that is asked catches up with the service first", in("runner.member.syncAsks", "m.syncAfter(0, _, _)", "m.inbox.put(asksSyncedMessage{a.unsynced})"), runner},
		{"request: by an older view", "it decides by the view that has what it caught up with", in("runner.member.passAsks", "!m.loop.Current()", "false"), runner},
		{"request: read-only without a commit", "the core goes by a registry without writes only if the next view ends that", in("runner.member.syncAsks", "m.report.readOnly", "m.readOnly"), idle},
		{"request: by what is read", "an operator that is no member catches up with the service before it reads a job", in("operator.Operator.presentView", "o.session.Sync(ctx)", "error(nil)"), operator("TestOperatorThatLagsBehind")},
	}
}
