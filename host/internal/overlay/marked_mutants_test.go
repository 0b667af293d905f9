package overlay

// markedMutants leave out pieces of how processes of a command are found by their
// environment.
func markedMutants() []mutant {
	by := func(test string) notice { return notice{"../native", "^" + test + "$"} }
	return []mutant{
		{"command: as it becomes another", "a process that shows no environment is looked at again", in("native.search.undecided", "time.Since(p.since) < unclearTimeout", "time.Since(p.since) < 0"), by("TestWhoStaysUnclearIsAwaitedOnce")},
		{"command: without an environment", "a process that was started without an environment delays nothing", in("native.search.examineAgain", "!ok || known || p.bare", "!ok || known"), by("TestWhoHasNoEnvironmentIsNotAwaited")},
	}
}
