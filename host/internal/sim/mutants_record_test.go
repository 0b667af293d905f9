package sim

// recordMutants remove rules of the run record: how a run begins, ends, gets
// its row and its next attempt.
func recordMutants() []mutant {
	const (
		execution = "protocol/execution.go"
		guests    = "protocol/guests.go"
		record    = "protocol/record.go"
		retry     = "protocol/retry.go"
		trigger   = "protocol/trigger.go"
		step      = "protocol/step.go"
		encode    = "layout/encode.go"
	)
	return []mutant{
		{"begin: assignment unchecked", "a begin holds only in the epoch in which it was decided", []edit{
			{encode, "func (t *transaction) begin(m protocol.Begin) {\n\tt.checkAssignment()\n", "func (t *transaction) begin(m protocol.Begin) {\n"},
		}},
		{"begin: mirror alone", "the owner is who the assignment names, not its mirror alone", []edit{
			{execution, "s.view.Assignment.owner(i) == s.self && s.view.item(i).Owner", "s.view.item(i).Owner"},
		}},
		{"begin: pending ignored", "an item whose orphan waits begins nothing but a later instant, and ends the wait", []edit{
			{execution, "if p != nil && (p.Foreign && !s.ripe(p) || !p.Foreign && t <= p.Entry.Instant) {", "if p != nil && p.Foreign && !s.ripe(p) {"},
			{execution, "\tif p != nil {\n\t\tb.m.Unpend", "\tif false {\n\t\tb.m.Unpend"},
		}},
		{"begin: pending kept", "what a begin overtakes no longer waits", []edit{
			{encode, "\tt.unpend(m.Unpend)\n", ""},
		}},
		{"begin: failover ignored", "an item that was taken over does not begin elsewhere", []edit{
			{execution, "case it.Failover != \"\":", "case false && it.Failover != \"\":"},
		}},
		{"begin: no gap row", "the instants that a begin passes over get a row", []edit{
			{execution, "b.m.Own.row(Row{Entry: Entry{Item: i, Instant: t}, Gap: true, After: last, Until: t, Cron: s.config().Cron, State: Missed, Why: s.whyOf(i), By: s.self})", "_ = last"},
		}},
		{"begin: last not raised", "a begin accounts for its instant", []edit{
			{execution, "b.m.Own.Last = set(b.m.Own.Last, i, t)\n", ""},
		}},
		{"begin: no running mark", "what begins in a monitored job is marked as running", []edit{
			{execution, "case b.m.Monitor && (it.Running != 0 || it.RunningP):", "case false:"},
			{encode, "\tif m.Monitor {\n\t\tfor _, i := range m.Begun {", "\tif false {\n\t\tfor _, i := range m.Begun {"},
		}},
		{"begin: paused", "a paused job begins nothing by schedule", []edit{
			{execution, "\t\tcase s.view.Paused:\n\t\t\ts.excuse(i, \"the job was paused\")\n", ""},
		}},
		{"begin: disabled item", "a disabled item begins nothing by schedule", []edit{
			{execution, "\t\tcase s.view.item(i).Disabled:\n\t\t\ts.excuse(i, \"the item was disabled\")\n", ""},
		}},
		{"begin: waits for nothing", "a reshard that is awaited holds up what is due, within its bound", []edit{
			{"protocol/sharding.go", "return s.markSince != 0 && s.now < s.waitsUntil()", "return false"},
		}},
		{"begin: full history", "a full history delays the next begin", []edit{
			{execution, "s.o.MaxUnstored > 0 && len(s.unstored(s.own())) >= s.o.MaxUnstored", "false"},
		}},
		{"begin: overlapping", "an item begins nothing while its run is open", []edit{
			{execution, "\t\tcase s.busy(i):\n\t\t\ts.overlap(i, t, p)\n", ""},
			{execution, "if s.busy(i) || b.taken[i] {", "if b.taken[i] {"},
		}},
		{"trigger: no trace", "an acknowledged trigger is in the record", []edit{
			{trigger, "b.m.Own.Triggers = append(b.m.Own.Triggers, t)\n", "_ = t\n"},
		}},
		{"trigger: not acknowledged", "an accepted trigger is acknowledged in the same transaction", []edit{
			{trigger, "b.m.Ack, b.changed = true, true", "b.changed = true"},
		}},
		{"trigger: no account", "a trigger that can no longer run gets a row", []edit{
			{step, "\t\taccount, ", "\t\t"},
		}},
		{"trigger: accepted again", "a request that an item's former owner accepted does not run it again", []edit{
			{trigger, "if owner == s.self && max(at(s.view.Assignment.Requested, i), at(s.own().Requested, i)) < rev {", "if owner == s.self {"},
		}},
		{"trigger: not handed on", "who gets an item knows what was accepted for it", []edit{
			{"protocol/sharding.go", "\ta.Requested = newest(a.Requested, d.Requested, a.Requested)\n", ""},
		}},
		{"trigger: left behind", "an item that moves away from a request that nobody accepted gets a row", []edit{
			{"protocol/sharding.go", "\ts.unaccepted(&next, &own)\n", ""},
		}},
		{"own record: any version", "a record is set by its version alone", []edit{
			{encode, "t.op(registry.Set, t.runsOf(self), encodeRuns(&d), t.version(self))", "t.op(registry.Set, t.runsOf(self), encodeRuns(&d), registry.AnyVersion)"},
		}},
		{"complete: marks kept", "the end of a run deletes its marks", []edit{
			{encode, "\t\tt.unmark(m.Self, m.Items)\n", ""},
		}},
		{"complete: no row", "the end of a run is a row", []edit{
			{execution, "\t\tnext.row(Row{Entry: *e, State: g.state, Why: g.why, Ended: s.now, By: s.self})\n", ""},
		}},
		{"complete: wrong attempt", "the end of an older attempt does not end the newer one", []edit{
			{execution, "if !g.ended || e == nil || !e.Same(g.Entry) {", "if !g.ended || e == nil {"},
			{guests, "return g.ended && (e == nil || !e.Same(g.Entry))", "return g.ended && e == nil"},
		}},
		{"again: same attempt", "each attempt has its own number", []edit{
			{execution, "\t\te.Attempt++\n\t\te.Begun = s.now\n", "\t\te.Begun = s.now\n"},
		}},
		{"again: never", "a run that self-fencing ended runs again if its session survives", []edit{
			{step, "\t\tagain, complete,", "\t\tcomplete,"},
		}},
		{"again: overtaken", "a run whose next instant has come is not run again", []edit{
			{execution, "g.ended && g.fenced && g.state == Cancelled && s.latest.At <= e.Instant\n", "g.ended && g.fenced && g.state == Cancelled\n"},
			{execution, "g.state == Cancelled && !s.leaving && s.latest.At <= e.Instant {", "g.state == Cancelled && !s.leaving {"},
		}},
		{"forget: before stored", "a row leaves the record when it is stored, not when it is handed over", []edit{
			{record, "return r.Seq > s.stored })\n\tif k < 0 {\n\t\treturn nil", "return r.Seq > s.handed })\n\tif k < 0 {\n\t\treturn nil"},
		}},
		{"forget: never", "stored rows leave the record", []edit{
			{step, "clearMarks, forget, pruneServers,", "clearMarks, pruneServers,"},
		}},
		{"store: never", "rows are handed to the history", []edit{
			{record, "\tp.add(Store{Rows: slices.Clone(own.Rows[k:])})\n", ""},
		}},
		{"misfire: no mark", "an instant that came during a run is marked", []edit{
			{step, "\t\tmarkMisfire, begin,", "\t\tbegin,"},
		}},
		{"misfire: mark kept", "the compensation clears its mark", []edit{
			{encode, "\tfor _, i := range m.Unmark {\n", "\tfor _, i := range m.Unmark[:0] {\n"},
		}},
		{"misfire: no compensation", "an instant that came during a run is made good after it", []edit{
			{execution, "\tb.compensations()\n", ""},
		}},
		{"misfire: while resharding", "a compensation waits until the reshard is over", []edit{
			{execution, "if s.markSince != 0 || s.view.Paused {", "if s.view.Paused {"},
		}},
		{"misfire: while paused", "a paused job makes nothing good", []edit{
			{execution, "if s.markSince != 0 || s.view.Paused {", "if s.markSince != 0 {"},
		}},
		{"clear marks: never", "marks that no run justifies are cleared", []edit{
			{step, "clearMarks, forget, pruneServers,", "forget, pruneServers,"},
		}},
		{"clear marks: strays kept", "marks that no session holds are removed", []edit{
			{record, "stray, left := s.leads() && !s.view.foreign(), false", "stray, left := false, false"},
		}},
		{"clear marks: strays unchecked", "a mark that no session held is removed only if nobody began anything since", []edit{
			{encode, "if t.checkRuns(m.Check); !slices.Contains(m.Check, m.Self) {", "{"},
		}},
		{"clear marks: joins unnoticed", "nor anybody who has joined since", []edit{
			{encode, "\t\tif len(m.Check) > 0 {\n\t\t\tt.nobodyJoined()\n\t\t}\n", ""},
		}},
		{"damage: record", "nothing is decided while a record cannot be read", []edit{
			{step, "if s.gone || s.view.RecordFault != \"\" {", "if s.gone {"},
		}},
		{"damage: configuration", "nobody acts on a configuration that cannot be read", []edit{
			{"layout/config.go", "\t\treturn nil, fmt.Errorf(\"expected the JSON of layout 2.1: %w\", err)\n", "\t\treturn &protocol.Config{Total: 1}, nil\n"},
		}},
		{"retry: never", "a run that failed is tried again", []edit{
			{execution, "\tb.retries()\n", ""},
		}},
		{"retry: at once", "a retry waits", []edit{
			{retry, "if s.now < r.After || s.hopeless(r)", "if s.hopeless(r)"},
		}},
		{"retry: overtaken", "a run whose next instant has come is not tried again", []edit{
			{retry, "\tcase s.later(r.Entry):\n\t\treturn \"the next instant came before it was tried again\"\n", ""},
			{retry, "s.mine(g.Item) && !s.later(g.Entry)", "s.mine(g.Item)"},
		}},
		{"retry: same attempt", "a retry is the next attempt", []edit{
			{retry, "\te.Attempt++\n", ""},
		}},
		{"retry: for ever", "a run is made so often and not more", []edit{
			{retry, "g.Attempt < s.o.Retry.Attempts && ", "s.o.Retry.Attempts > 0 && "},
		}},
		{"retry: lost with its member", "what the dead were to try again goes on", []edit{
			{"protocol/failover.go", "for _, r := range d.Retries {", "for _, r := range d.Retries[:0] {"},
			{"protocol/failover.go", "open < len(d.Open)+len(d.Retries)", "open < len(d.Open)"},
		}},
		{"retry: forgotten by who leaves", "nobody leaves before its retries have rows", []edit{
			{"protocol/membership.go", "len(own.Retries) > 0 || ", ""},
			{retry, "\tcase s.leaving:\n\t\treturn \"the server was shutting down\"\n", ""},
		}},
		{"retry: no row", "a retry that cannot be made any more gets a row", []edit{
			{record, "\t\t\tm.Own.row(s.givenUp(r, why))\n", ""},
		}},
		{"retry: two of an item", "of two runs of an item that waited one is run again", []edit{
			{"protocol/failover.go", "\t\t\twhy = anotherRun\n\t\t}\n\t\tif why", "\t\t\twhy = \"\"\n\t\t}\n\t\tif why"},
		}},
		{"guest: on any outcome", "a guest starts only when its begin has been applied", []edit{
			{step, "\tcase Unknown:\n", "\tcase Unknown:\n\t\ts.applied(f, in.Revision, p)\n"},
		}},
		{"guest: on refusal", "a guest does not start when its begin was refused", []edit{
			{step, "\tcase Refused:\n", "\tcase Refused:\n\t\ts.applied(f, in.Revision, p)\n"},
		}},
		{"guest: open entry ignored", "an open entry without guest is begun", []edit{
			{guests, "\t\ts.run(e, own.Modified, []int{e.Item}, p)\n", ""},
		}},
		{"guest: never forgotten", "an ended guest without entry is forgotten", []edit{
			{guests, "return g.ended && (e == nil || !e.Same(g.Entry))", "return false && (e == nil || !e.Same(g.Entry))"},
		}},
	}
}
