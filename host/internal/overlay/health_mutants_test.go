package overlay

// healthMutants leave out pieces of how jobs are told of a health that comes and goes.
func healthMutants() []mutant {
	by := func(test string) notice { return notice{"../session", "^" + test + "$"} }
	return []mutant{
		{"health: regained for a moment", "a doubt that comes back before the next check is told", in("session.monitor.ask", "health < m.reported", "false"), by("TestDoubtIsReportedAfterAMomentOfTrust")},
		{"health: regained unseen", "a doubt is told again to a job that has seen trust in between", in("session.connected.watch", "!regained", "true"), by("TestDoubtIsReportedAfterTrustThatOneJobHasSeen")},
	}
}
