package overlay

// markedMutants leave out pieces of how the processes of a command are found by their
// environment.
func markedMutants() []mutant {
	by := func(test string) notice { return notice{"../native", "^" + test + "$"} }
	return []mutant{
		{"command: as it becomes another", "a process that shows no environment is looked at again", in("native.search.wonder", "time.Since(was.since) < unclearTurn", "time.Since(was.since) < 0"), by("TestWhoExecsAllTheTimeIsEnded")},
		{"command: without an environment", "a process that was started without an environment holds nobody up", in("native.search.wonder", "!ok || known || p.bare", "!ok || known"), by("TestWhoHasNoEnvironmentIsNotAwaited")},
	}
}
