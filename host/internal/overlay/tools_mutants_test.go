package overlay

import "slices"

// toolMutants leave out rules that are there for ElasticJob's tools, which write what
// no server of ours does: a cron that cannot be read, another class, an instance that
// is gone, and a job that goes node by node.
func toolMutants() []mutant {
	runner := func(test string) notice { return notice{"../runner", "^" + test + "$"} }
	script := func(name string) notice { return notice{"../protocol", "^TestScripts$/^" + name + "$"} }
	return []mutant{
		{"cron: unreadable", "a job goes on by the newest schedule that can be read", in("protocol.State.inForce", "s.reads(c.Cron)", "true"), script("cron_unreadable")},
		{"cron: not kept", "who starts later knows the schedule by which the job goes on", in("protocol.account", "return s.keepSchedule(_)", "return nil"), script("cron_unreadable_kill")},
		{"cron: beside Java", "nothing begins by a schedule that members of ElasticJob may not have", in("protocol.State.pausedByCron", "s.company.shared", "false"), script("cron_unreadable_foreign")},
		{"cron: not told", "a schedule that cannot be read is told, and when it can be again", in("protocol.State.unreadWhy", "*s.schedule.cron == c.Cron", "true"), script("cron_unreadable")},
		{"class: members leave", "members stay whatever the class, where no member of ElasticJob is", in("admission.Verdict.decideClass", "!stays", "true"), runner("TestMembersStayWhateverTheClass")},
		{"class: beside Java", "nobody stays in a job of another class beside a member of ElasticJob", in("admission.Verdict.decideClass", "case f.Foreign, _:", "case !stays && !f.Job.Overwrite:"), notice{"../admission", "^TestDecide$"}},
		{"class: nobody starts", "who starts joins a job of ours where no member of ElasticJob is, whatever class was written since", in("admission.Verdict.decideClass", "f.StandsFor", "false"), runner("TestMembersStayWhateverTheClass")},
		{"class: a third", "but not for another class than ours ran the job for", in("definition.Module.StandsFor", "m.settings.Class == j.Class", "true"), runner("TestMembersStayWhateverTheClass")},
		{"class: comes back", "who had to leave for the class comes back only when that is mended", in("admission.Verdict.decideClass", "!f.Barred", "true"), runner("TestRunsOfWhoMustGoEnd")},
		{"type: HTTP", "no server joins a job that sends a request", in("admission.Decide", "f.Definition.HTTP", "false"), notice{"../admission", "^TestDecide$"}},
		{"type: static", "nor one whose items stay with the members that got them first", in("admission.Decide", "f.Definition.Static", "false"), notice{"../admission", "^TestDecide$"}},
		{"type: strategy", "nor, beside members of ElasticJob, one of layout 3 whose strategy has a name that they refuse", in("admission.Verdict.decideStrategy", `d.StrategyType == ""`, "true"), notice{"../admission", "^TestDecide$"}},
		{"shutdown: at once", "what runs when an operator shuts a job down may finish", in("runner.member.effect", "m.beginDrain(m.DrainTimeout, _)", "m.beginDrain(0, e.Why)"), runner("TestShutDownDrains")},
		{"shutdown: no drain", "the core says that what runs may finish", without("protocol.State.observe", "p.add(Drain{Why: _})"), script("removed_instance")},
		{"retry: whatever was cancelled", "what was cancelled, and not since its member leaves, is not tried again", in("protocol.State.finished", "s.session.leaving && e.State == Cancelled", "e.State == Cancelled"), script("retry_not")},
		{"shutdown: comes back", "who was shut down does not come back with the next session", in("runner.member.handleEvent", "!m.drain.begun()", "true"), runner("TestShutDownOutlivesTheSession")},
		{"removed: defined anew", "who finds its nodes gone does not define the job", in("protocol.State.seeNodesGone", "Stop{Rejoin: _, Removed: true}", "Stop{Rejoin: !s.session.leaving || s.session.barred}"), script("removed_job")},
		{"removed: brought back", "nor does its server, from its file", slices.Concat(in("runner.generations.initial", "l.removed", "false"), in("protocol.State.removed", "s.o.Removed", "false")), runner("TestARemovedJobStaysAway")},
		{"removed: in the way", "nobody makes a node anew while a job is removed node by node", in("protocol.State.removing", "s.session.nodesGoneSince != 0", "false"), script("removed_slowly")},
		{"removed: for ever", "what a tool has left is made whole after a while", in("protocol.State.removing", "s.now < s.session.nodesGoneSince+RemovalPause", "true"), script("removed_half")},
		{"layout: an address for two", "who comes second waits where an address has one member", in("protocol.State.waitsForAddress", "!v.ByAddress", "true"), script("join_address")},
		{"layout: beside foreign members", "no server runs a job beside foreign members where addresses name members", in("admission.Verdict.decideLayout", "f.Foreign && f.Definition.ByAddress", "false"), notice{"../admission", "^TestDecide$"}},
		{"layout: leads first", "not even beside one that only leads yet", in("protocol.View.Shared", "v.ByAddress && _", "false"), script("foreign_leader_address")},
		{"layout: adopted by address", "nothing is adopted where addresses name members", in("protocol.View.unadopted", "v.ByAddress", "false"), script("adopt_address")},
		{"layout: begun unseen", "what members of ElasticJob began last is accounted for, where addresses name members", without("protocol.State.accountFor", "s.beganUnseen(_, _, _)"), script("foreign_began_address")},
		{"layout: begun by ours", "what ours began is not theirs", in("jobtree.begins.foreign", "x.next != 0 && x.next != x.rev", "true"), script("foreign_began_address")},
		{"layout: fires next", "nodes say when an item fires next, where addresses name members", without("jobtree.transaction.beginsRound", "t.put(t.Item(i, markNextFire), _, _)"), script("begin_address")},
		{"layout: fires no more", "and do not when it does no more", without("jobtree.transaction.beginsRound", "t.delete(t.Item(i, markNextFire), _)"), script("begin_address")},
		{"layout: items not there listed", "a list names only items whose nodes are there", in("jobtree.transaction.lists", "slices.Contains(moved, i)", "true"), script("parts_address")},
		{"layout: an item in two lists", "nor items that another list still names", in("jobtree.transaction.listed", "t.v.Items[i].Owner.IP() == ip", "true"), script("parts_address_once")},
		{"layout: status of who is ended", "whose status an operator deleted goes on writing", in("jobtree.transaction.status", "slices.ContainsFunc(t.v.Instances, _)", "true"), script("removed_address")},
		{"layout: 2.0 over 2.1", "a job of layout 2.1 is none of 2.0", in("jobtree.Job.rootFault", "j.byAddress() && _", "false"), script("damaged_layout_instances")},
		{"layout: 2.1 over 2.0", "a job of layout 2.0 is none of 2.1", in("jobtree.Job.rootFault", "!j.byAddress() && _", "false"), script("damaged_layout_execution")},
		{"layout: a cut migration", "nobody joins what a migration has copied in part", in("jobtree.Decoder.resolveAddresses", "has(v, NodeAssignment) && !has(v, NodeMembers)", "false"), script("join_migration")},
		{"layout: leaves by owners", "a member that addresses name leaves without nodes of owners", in("protocol.State.takenForDead", "v.ByAddress", "false"), script("leave_address")},
		{"layout: half of 1", "nobody joins a job of layout 1 whose configuration is a text, too", in("jobtree.Job.parse", "j.byKeys() && _", "false"), script("damaged_layout_keys")},
		{"layout: keys of 1", "no verb writes to a job of a later layout that has nodes of keys", in("jobtree.Job.parse", "!j.byKeys() && _", "false"), notice{"../../operator", "^TestHalvesOfTwoLayoutsAreLeftAlone$"}},
		{"layout: a key unseen", "a change of keys is refused if one that it leaves has changed", in("jobtree.checkKeys", "NodeVersion(version)", "min(NodeVersion(version), registry.AnyVersion)"), notice{"../layout/v1", "^TestAChangeSeesEachKey$"}},
		{"layout: a key that came", "or one has come", in("jobtree.checkKeys", "ops = append(ops, op)", "if op.Kind == registry.Absent {\nop = ops[0]\n}\nops = append(ops, op)"), notice{"../layout/v1", "^TestAChangeSeesEachKey$"}},
		{"layout: offset not read", "a run has what members of ElasticJob have kept as its offset", without("runner.itemState.Load", "spelling.PutOffset(_, _)"), runner("TestOffsetOfLayout1")},
		{"layout: offset not written", "and what it keeps of that is where they look for it", in("jobtree.Job.SaveOffset", "bytes.Equal(n.Data, value)", "true"), runner("TestOffsetOfLayout1")},
		{"layout: counted twice", "what a member of a dataflow has reported is not reported again", in("protocol.State.applied", "f.view.runs(m.Self).Flow", "Flow{}"), script("count")},
		{"layout: counted at once", "nor before its interval is over", in("protocol.count", "s.now < until", "false"), script("count")},
		{"layout: class overlooked", "no server joins a job that names its class as in layout 3", in("jobtree.Decoder.Apply", "err := d.j.rootFault(n)", "var err error"), notice{"../..", "^TestWhatKeepsAServerOutOfAJobOfJava$"}},
		{"removed: half", "who has seen a removal does not make whole what is left", in("protocol.State.removed", "s.o.Removed", "false"), script("removed_left")},
		{"rest: taken over", "a server makes a job only when a removal has left nothing", in("protocol.join", "v.Rest", "false"), script("removed_rest")},
		{"rest: kept", "and deletes what it has left", without("protocol.State.observe", "s.deleteRest(p)"), script("removed_rest")},
		{"rest: at any time", "but not while a member is there", in("protocol.State.deleteRest", `s.inRest() == ""`, "true"), script("removed_rest_foreign")},
		{"rest: at once", "nor right after a failure", in("protocol.State.deleteRest", "s.now >= s.session.rest.retry", "true"), script("removed_rest_refused")},
		{"rest: never again", "but later", in("protocol.State.alarm", "s.restRetry()", "0"), script("removed_rest_refused")},
		{"rest: stays", "members leave what a removal has left", in("protocol.State.seeNodesGone", "!s.leavesRest()", "true"), script("removed_rest_members")},
		{"rest: rows lost", "when their rows are stored", in("protocol.State.leavesRest", "len(s.history.unstored(own))", "0"), script("removed_rest_members")},
		{"rest: setup", "a removal that begins while a job is set up refuses that", in("jobtree.transaction.setup", `t.noRemoval("setup/removal")`, ""), script("removed_rest_setup")},
		{"rest: record", "a damaged record does not keep the rest", in("protocol.Step", "s.meetsRest()", "false"), script("removed_rest_record")},
		{"rest: defined again", "what is deleted for a removal is not deleted from a job that was defined since", in("removal.Ops", "registry.Op{Kind: registry.Absent, Path: config}", `registry.Op{Kind: registry.Absent, Path: config + "x"}`), notice{"../removal", "^TestOps$"}},
		{"rest: another's", "nor where the removal is over", in("removal.Ops", "registry.Op{Kind: registry.Check, Path: mark, Version: registry.AnyVersion}", `registry.Op{Kind: registry.Absent, Path: mark + "x"}`), notice{"../removal", "^TestOps$"}},
	}
}
