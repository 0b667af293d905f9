package overlay

// rareMutants leave out rules of the core that a random cluster needs once in
// thousands: a script notices. Or what is around the core needs as rarely.
func rareMutants() []mutant {
	script := func(name string) notice { return notice{"../protocol", "^TestScripts$/^" + name + "$"} }
	return []mutant{
		{"next attempt: of a trigger", "what an operator asked for runs again after a doubt, also in a job that is paused", in("protocol.State.attemptDue", `!s.view.Paused || e.Trigger != ""`, "!s.view.Paused"), script("doubt_trigger")},
		{"evidence: a second run", "what a member of ElasticJob runs for the second time since an instant is no run of that instant", in("protocol.State.marked", "max(s.view.last(i), at(w.ran, i))", "s.view.last(i)"), script("accounted_foreign_twice")},
		{"evidence: ended and begun", "a foreign run that begins in the view that ends the one before is another run", in("protocol.State.marked", "found && fresh <= 0", "found"), script("accounted_foreign_twice_at_once")},
		{"evidence: two at once", "of two foreign runs that begin in one view only the first is of the instant", in("protocol.State.marked", "fresh > 1", "false"), script("accounted_foreign_two_at_once")},
		{"gaps: total unread", "a new item has no gap from before its total, also if what was before could not be read", in("protocol.State.seeTotal", "t.unread = true", "_ = t"), script("gap_total_unread")},
		{"clocks: dropped", "what came behind an instant that waited is asked for when the clocks agree", in("protocol.State.goByClocks", "s.clock.early.At != 0 || s.clock.dropped", "s.clock.early.At != 0"), script("clock_right_late")},
		{"retry: taken late", "a take of the attempt before does not take what waits to be tried again", without("jobtree.Job.Encode", `t.setAssignment("account/epoch", _)`), script("take_race_retried")},
		{"retry: moved, undated", "what has moved waits until its owner knows the newest instant", in("protocol.beginning.moved", "s.undated()", "false"), script("retry_moved")},
		{"catch up: held back", "what came while a server was there is not caught up", in("protocol.missed", "t = max(t, s.schedule.latest.At)", "_ = t"), script("catch_up_passed")},
		{"catch up: disabled alone", "what comes while the only server is disabled is not caught up", in("protocol.missed", "s.o.CatchUp != 0 && s.able() && s.disabledHere()", "false"), script("catch_up_disabled")},
		{"catch up: comes disabled", "what was missed until a disabled server comes is not caught up when it is enabled", in("protocol.State.unattendedUntil", "s.allDisabled()", "false"), script("catch_up_disabled")},
		{"catch up: others enabled", "what an enabled server has missed is caught up, also if a disabled one comes before it", in("protocol.State.allDisabled", "slices.ContainsFunc(v.Servers, enabled)", "false"), script("catch_up_disabled_other")},
		{"catch up: clock ahead", "what had come by the registry's clock is caught up by a server whose own is ahead", without("protocol.State.seePassed", "s.backlog.catchUp.passed = s.dateOf(_)"), script("catch_up_ahead")},
		{"catch up: one that lingers", "the dead may be cleaned up one after the other", in("protocol.State.seeLingering", "v.dead(id)", "v.dead(id) && len(l.ids) == 1"), script("catch_up_lingers_two")},
		{"catch up: newcomers", "who has no part in the items yet was not there", in("protocol.View.attends", "slices.Contains(v.Assignment.Members, m.ID)", "true"), script("catch_up_lingers_both")},
		{"catch up: newcomers gone", "who comes when only such servers are there catches up", in("protocol.State.unattendedUntil", "slices.ContainsFunc(v.Members, v.attends)", "len(v.Members) > 0"), script("catch_up_newcomers")},
		{"catch up: newcomers disabled", "a disabled server has no part in the items and is there", in("protocol.View.attends", "v.serverDisabled(m.ID.IP())", "false"), script("catch_up_newcomer_disabled")},
		{"catch up: slow newcomer", "who found nobody there goes by when it followed the schedule, also if another came after it", in("protocol.State.missedUntil", "s.backlog.catchUp.empty != 0", "until == s.backlog.catchUp.empty"), script("catch_up_newcomers")},
		{"catch up: due meanwhile", "what is due while nothing is caught up begins", in("protocol.beginning.giveUpMissed", "b.m.More || s.schedule.tick.At != 0", "b.m.More"), script("catch_up_foreign_due")},
		{"catch up: schedule gone", "what a schedule named that was changed while nobody was there is caught up", in("protocol.State.seePassed", "max(t, s.changedWhileAway())", "t"), script("catch_up_schedule_gone")},
		{"reclaim-foreign: while ours runs", "a foreign member's run of an item waits for the end of ours", in("protocol.reclaimForeign", "v.open(p.Item)", "false"), script("reclaim_foreign_open_here")},
		{"reclaim-foreign: seen while ours runs", "so does one that our member has seen", in("protocol.reclaimForeign", "v.open(e.Item)", "false"), script("reclaim_foreign_open_seen")},
		{"reclaim-foreign: of a trigger", "what a foreign member begins after the newest instant was accounted for is a triggered run", in("protocol.State.marked", "e.Instant <= max(_, _)", "false"), script("reclaim_foreign_trigger")},
		{"mark: left out", "a member that a foreign leader left out gets items when one of ours leads", in("protocol.State.stale", "v.Sealed && v.someoneWithout()", "false"), script("mark_left_out")},
		{"reclaim-foreign: about to be back", "a foreign member that writes its server's node is about to come back", in("protocol.State.watchForeign", "version != t.server", "false"), script("reclaim_foreign_returns")},
		{"reclaim-foreign: ended before", "a foreign member that ends its run and leaves has not died in it, though both are seen at once", in("protocol.State.endedFirst", "changed < v.InstancesChanged", "false"), script("reclaim_foreign_ended")},
		{"reclaim-foreign: ended unread", "the order in which mark and instance went is read", in("follow.Loop.inspect", "len(items) > 0", "false"), notice{"../follow", "^TestEndAndLeaveInOneView$"}},
		{"missed: held back by a pause", "what came during a run, and then perhaps during a pause, has its row when the pause ends", in("protocol.State.isMisfired", "s.schedule.latest.At > s.schedule.paused", "true"), script("missed_start_misfire_paused")},
		{"begin: taken, unmarked", "an item that another member has taken does not begin, also if its marks are gone", in("protocol.beginning.blocked", "b.s.openElsewhere(i)", "false"), script("begin_taken_unmarked")},
		{"take: open elsewhere", "a pending run is not taken beside another run of its item that has no mark", in("protocol.facts.taking", "s.openElsewhere(_)", "false"), script("take_open_elsewhere")},
		{"clocks: passed early", "what a schedule names as passed by a clock that is ahead begins when it has come", without("protocol.State.seePassed", "s.arrive(_)"), script("clock_ahead_changed")},
		{"clocks: of the schedule before", "what waits for the registry's clock is forgotten with its schedule", without("protocol.State.followSchedule", "s.clock.early, s.clock.dropped = _, _"), script("clock_ahead_changed")},
		{"begin: a foreign member leads", "a begin is refused that comes after a foreign leader has assigned", without("jobtree.transaction.begin", `t.checkLead("begin/lead")`), script("begin_foreign_leads")},
		{"drop: named since", "a pending run that has been named since is not dropped", in("jobtree.transaction.deletePending", `t.seen("delete-pending/pending", p.Version)`, "registry.AnyVersion"), script("drop_foreign_named")},
		{"record-taken: never", "a run of ours that a foreign member has taken has its row", in("protocol.recordTaken", "len(s.evidence.taken) == 0", "true"), script("record_taken")},
		{"guarantee: never joined", "foreign members do not wait for ours to begin an instant", in("protocol.joinRound", "!s.company.shared", "true"), script("guarantee")},
		{"processing: left", "a member that loses the lead during a reshard lets the next leader assign", in("protocol.clearProcessing", "s.company.leads", "true"), script("reshard_foreign_lead_lost")},
		{"strategy: asked again late", "a strategy that fails once is asked again after a second", in("protocol.State.answered", "firstRetry", "lastRetry"), script("strategy_fault_backs_off")},
		{"strategy: ever later", "an answer of use ends the row of failures", without("protocol.State.answered", "s.reshard.failures = 0"), script("strategy_fault_backs_off")},
		{"rows: untold at the end", "a server that stops without the registry tells of the runs that it had", without("runner.generations.end", "l.storeCutOff()"), notice{"../runner", "^TestRowsOfAServerThatLostTheRegistry$"}},
	}
}
