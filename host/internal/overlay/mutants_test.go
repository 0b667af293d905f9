package overlay

import "slices"

func mutants() []mutant {
	return slices.Concat(runnerMutants(), belowMutants(), commandMutants(), markedMutants(), toolMutants(), rareMutants(), sessionMutants(), fileMutants(), discoveryMutants(), finderMutants(), rowMutants())
}

func without(fn, code string) []Edit { return []Edit{{fn, code, ""}} }

func in(fn, old, by string) []Edit { return []Edit{{fn, old, by}} }

// runnerMutants leave out pieces of the loop around the core.
func runnerMutants() []mutant {
	by := func(test string) notice { return notice{"../runner", "^" + test + "$"} }
	return []mutant{
		{"outcome: unknown is refused", "a commit without an answer may have been applied", in("follow.Loop.Answered", "in.Outcome = protocol.Unknown", "in.Outcome = protocol.Refused"), by("TestTriggerWithoutAnswerIsNotWrittenAgain")},
		{"outcome: nothing read again", "what a commit without an answer wrote is read again", without("follow.Loop.Answered", "l.reread = true"), by("TestOutcomeIsReadAgain")},
		{"outcome: view before the sync", "no view is shown while a sync is under way", in("follow.Loop.Look", "l.syncing", "false"), by("TestReadsOfADeposedLeaderSettleNothing")},
		{"clock: not looked at", "a step begins with a look at the clock", without("runner.member.step", "m.checkHealth()"), by("TestStepAfterAFreeze")},
		{"clock: guest does not look", "a guest that waited for a place begins nothing in doubt", in("runner.guest.admit", "g.member.session.Health() == session.Trusted", "true"), by("TestGuestThatWaitedBeginsNothingInDoubt")},
		{"doubt: core not told", "the core knows when the session is in doubt", in("runner.member.checkHealth", "level = protocol.Doubtful", "level = protocol.Trusted"), by("TestDoubtStopsGuestsAndStartsThemAgain")},
		{"doubt: fence not told", "guests end with the trust, without the loop", without("runner.inbox.HealthChanged", "b.fence.strike()"), by("TestGuestsEndWithoutTheLoop")},
		{"doubt: loop does not learn", "the loop learns what the fence has done", in("runner.fence.takeStrike", "struck := f.struck", "struck := false"), by("TestGuestsEndWithoutTheLoop")},
		{"end: guests go on", "guests end with the session, without the loop", without("runner.inbox.Event", "b.fence.close(_)"), by("TestGuestsEndWithTheSessionWithoutTheLoop")},
		{"line: closed before its guests end", "a member is there for others while a guest of it runs", without("runner.member.finish", "m.life.wait()"), by("TestSessionOutlivesItsGuests")},
		{"rows: before the disk", "no row is stored before the registry has on its disk what it tells of", in("runner.history.write", "h.member.session.Persist(_)", "error(nil)"), by("TestRowsWaitForTheDiskOfTheRegistry")},
		{"guest: told to stop begins", "a guest that was told to stop while it waited does not begin", in("runner.guest.awaitPlace", "g.stopReason() != job.Continue", "false"), by("TestGuestThatWasAskedToStopDoesNotBegin")},
	}
}

// belowMutants leave out pieces of the code below the loop, and of the core if its
// scripts notice.
func belowMutants() []mutant {
	session := func(test string) notice { return notice{"../session", "^" + test + "$"} }
	zk := func(test string) notice { return notice{"../../registry/zk", "^" + test + "$"} }
	script := func(name string) notice { return notice{"../protocol", "^TestScripts$/^" + name + "$"} }
	sent := zk("TestAcknowledged_is_when_it_was_sent")
	return []mutant{
		{"health: doubt not reported", "every job hears when the session is in doubt", in("session.openSession.watch", "health == known", "health == known || health == Doubtful"), session("TestHealth")},
		{"health: half is enough", "guests end before others may have their items", in("session.monitor.health", "granted*3/4", "granted"), session("TestHealth")},
		{"health: from when it is there", "a session counts from when it was asked for", in("session.Server.openSession", "newMonitor(_, _, asked)", "newMonitor(session, s.moment, moment{asked.at.Add(time.Since(asked.at)), asked.slept})"), session("TestHealthCountsFromTheRequestForTheSession")},
		{"health: asleep", "a machine that slept doubts its session", in("session.moment.since", "slept > sleepNoise", "false"), session("TestHealthCountsTheSleepOfTheMachine")},
		{"job session: unsettled", "a closed job session has no commit of unknown outcome", in("session.Job.hasRemains", "j.unknown > j.settled || _", "len(j.created) > 0"), session("TestCloseSettlesACommitWithoutMarks")},
		{"job session: nodes left", "a closed job session leaves no ephemeral node", in("session.Job.hasRemains", "len(j.created) > 0", "false"), session("TestCloseLeavesNothing")},
		{"job session: does not wait", "a job session is closed when its requests have ended", without("session.Job.Close", "j.inFlight.Wait()"), session("TestCloseWaits")},
		{"loop: stands still", "a stuck loop loses its job session before the time-out", in("session.openSession.watchLoops", "s.checks >= checksWithoutTurn", "s.checks > checksPerTimeout"), session("TestStuckLoop")},

		{"lease: a read", "a read is no acknowledgement", in("zk.session.Read", "return n, nil", "s.acknowledge(time.Now())\nreturn n, nil"), sent},
		{"lease: sync from its answer", "a keep-alive counts from when it was sent", in("zk.session.keepAlive", "s.acknowledge(sent)", "s.acknowledge(sent.Add(time.Since(sent)))"), sent},
		{"lease: commit from its answer", "a transaction counts from when it was sent", in("zk.session.commit", "if err == nil && _ {}", "if err == nil && len(answers) == len(t.requests) {\ns.acknowledge(time.Now())\nreturn s.receipt(ops, t, answers), nil\n}"), sent},
		{"lease: from when it is there", "a new session counts from when its connection was begun", in("zk.session.wrap", "s.hello(begun, _, _)", "s.hello(begun.Add(time.Since(begun)), id, granted)"), sent},
		{"lease: taken up again", "a resumed session is no acknowledgement", in("zk.session.hello", "case s.id.Load() == id:", "case s.id.Load() == id:\ns.acknowledge(begun)"), zk("TestTakenUpAgainIsNoSignOfLife")},
		{"sync: late operations", "a sync waits for operations that nobody waits for any more", in("zk.session.Sync", "s.awaitLate(_)", "error(nil)"), zk("TestSync_after_a_late_operation")},
		{"connection: another's answer", "an answer on a connection that is lost brings nobody up", in("zk.connection.restored", "c.over || _ || _", "c.over"), zk("TestRestore_answered_on_a_lost_connection")},
		{"connection: not followed", "a new connection follows what the one before did", in("zk.connection.connected", "len(c.follows) == 0", "true"), zk("TestConnection_every_order")},
		{"connection: loss not told", "a session tells that its connection is lost", in("zk.connection.disconnected", "!c.over", "false"), zk("TestChanged_around_a_loss")},

		{"again: replaced", "a run that is being replaced when doubt comes is not run again", in("protocol.State.doubted", `g.fenced || g.why.None()`, "true"), script("replaced_then_doubt")},
		{"complete: another's running mark", "the end of a run leaves the marks of other sessions", in("jobtree.transaction.unmark", "it.Running == session && session != 0", "it.Running != 0"), script("complete_other_mark")},
		{"complete: another's failover mark", "nor takes it their failover marks away", in("jobtree.transaction.unmark", "it.TakerSession == session", "true"), script("complete_other_mark")},
	}
}

// commandMutants leave out pieces of the code that ends commands of the operating system.
// A supervisor is a process of its own, which runs no mutant.
func commandMutants() []mutant {
	by := func(test string) notice { return notice{"../native", test} }
	return []mutant{
		{"command: left by another server", "what an earlier server has left is ended before a job begins", in("native.Open", `others, err := endMarked(ctx, mark+".")`, "others, err := false, error(nil)"), by("^TestTheNextServerEndsWhatIsLeft$/^by_environment$")},
		{"command: without its supervisor", "what has lost its supervisor is ended with the run", in("native.supervised.wait", "_, fault := endMarked(ctx, s.mark)", "_, fault := false, error(nil)"), by("^TestASupervisorIsKilled$/^by_environment$")},
		{"command: begins too late", "no command begins when the process is about to end", in("native.Commands.begin", "c.closed", "false"), by("^TestNothingBeginsAfterEnd$")},
	}
}
