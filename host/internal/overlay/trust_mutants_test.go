package overlay

// trustMutants leave out pieces of how lines are told of a trust that comes and goes.
func trustMutants() []mutant {
	by := func(test string) notice { return notice{"../session", "^" + test + "$"} }
	return []mutant{
		{"trust: regained for a moment", "a doubt that comes back before the next look is told", in("session.judge.ask", "level < j.told", "false"), by("TestDoubtIsToldAfterAMomentOfTrust")},
		{"trust: regained unseen", "a doubt is told again to who has seen trust in between", in("session.connected.watch", "!regained", "true"), by("TestDoubtIsToldAfterTrustThatOneJobHasSeen")},
	}
}
