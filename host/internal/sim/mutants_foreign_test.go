package sim

// foreignMutants leave out what foreign members of the job need, and how ours treat their
// nodes.
func foreignMutants() []mutant {
	return []mutant{
		{"request: awaits no assignment", "a request waits for the assignment that it makes a foreign leader do", []change{in("protocol.State.reshardWait", "asked > s.reshard.waitAsked", "false")}},
		{"request: late for an assignment", "a request waits for that assignment even if an instant does not", []change{in("protocol.State.assignsAtNextInstant", "!s.triggered()", "true")}},
		{"mark: before the instant", "what is due waits for a reshard if the mark came before a foreign leader could begin the instant", []change{in("protocol.State.assignsAtNextInstant", "s.reshard.since > s.schedule.tick.At+assignLag", "true")}},
		{"latch: out of turn to lead", "only the first in the queue becomes leader", []change{in("protocol.elect", "s.place(ElectionLatch)", `func() (string, bool) { place, _ := s.place(ElectionLatch); return place, place != "" }()`)}},
		{"latch: out of turn to take", "beside foreign members, only the first in the queue takes", []change{in("protocol.take", "s.place(FailoverLatch)", `func() (string, bool) { place, _ := s.place(FailoverLatch); return place, place != "" }()`)}},
		{"latch: kept", "a member that does not want its turn leaves the queue", []change{noRule("withdraw")}},
		{"latch: held after the take", "a take gives up the place in the queue", []change{
			in("jobtree.transaction.takeOver", `m.Place != ""`, "false"),
			noRule("withdraw"),
		}},
		{"two steps: at once", "beside foreign members, an owner's node that changes is deleted first", []change{in("protocol.reshard", "s.differingOwners(_, _)", "nil")}},
		{"two steps: no pause", "it is made again after a pause", []change{in("protocol.lag", "20 + int64(total)/10", "int64(total) / 1000")}},
		{"two steps: restored at once", "the pause also holds while the strategy fails and a late part of the former leader deletes more of them", []change{in("protocol.facts.restore", "s.now < until", "false")}},
		{"two steps: assigned anew", "the pause also holds when the items have been assigned anew since", []change{in("protocol.reshard", "v.hasOwnerlessItem()", "false")}},
		{"two steps: of another leader", "the pause also holds for a node that the former leader wrote after the new assignment was decided", []change{in("protocol.facts.writeOwners", "s.company.shared", "false")}},
		{"two steps: over a new assignment", "a part in flight is refused if a foreign leader assigns meanwhile", []change{
			in("jobtree.transaction.reshard", "t.op(registry.Set, t.at(NodeNecessary), nil, _)", "t.op(registry.Check, t.at(NodeNecessary), nil, t.v.NecessaryV)"),
			in("protocol.State.applied", "f.view.NecessaryV + 1", "f.view.NecessaryV"),
		}},
		{"adopt: never", "what a foreign leader has assigned becomes the assignment", []change{noRule("adopt")}},
		{"adopt: nodes unchecked", "what is adopted is what the nodes still say", []change{noFence("adopt/owners")}},
		{"adopt: moves what runs", "an item that is open does not move, whichever leader assigns", []change{without("protocol.adopt", "next.Owners[e.Item] = owner")}},
		{"adopt: a new assignment", "the assignment that was seen is adopted, not the next one", []change{noFence("adopt/seal")}},
		{"adopt: records unchecked", "no record has changed since the adoption was decided", []change{noFence("adopt/records")}},
		{"adopt: requests left behind", "an item that a foreign leader moves away from a request gets a row", []change{without("protocol.adopt", "s.unaccepted(_, _)")}},
		{"reshard: moves foreign runs", "an item that a foreign member runs does not move", []change{in("protocol.State.movesRunning", "it.Running != 0", "false")}},
		{"begin: owner's node unchecked", "beside foreign members, an item begins only if its owner's node has not changed", []change{noFence("begin/owners")}},
		{"begin: over a new assignment", "a begin in flight is refused if a foreign leader assigns meanwhile", []change{noFence("begin/seal")}},
		{"begin: over another's assignment", "it is also refused if a foreign member assigns that no longer leads", []change{noFence("begin/first")}},
		{"begin: unsealed", "under a foreign leader nothing begins before its assignment is adopted", []change{in("protocol.begin", "s.company.unsettled", "false")}},
		{"mark: joined meanwhile", "a foreign leader assigns anew for members that joined while it assigned", []change{in("protocol.markReshard", "s.memberLeftOut(_)", "false")}},
		{"mark: joined meanwhile, twice", "it also does so for a member that an assignment begun before the mark left out", []change{in("protocol.State.memberLeftOut", "requests < mostRequests", "false")}},
		{"mark: owner gone", "a foreign leader is asked to assign an item whose owner is gone", []change{in("protocol.markReshard", "s.ownerGone()", "false")}},
		{"foreign: taken stays", "what foreign members took while failover was switched off is given back", []change{without("protocol.clearMarks", "m.Failover, left = append(m.Failover, items...), true")}},
		{"foreign: reclaimed too early", "only a member that knows the newest instant reclaims foreign runs", []change{in("protocol.facts.takeDue", "s.undated()", "false")}},
		{"foreign: no grace", "a foreign member that may only have lost its connection is not dead", []change{
			in("protocol.reclaimForeign", "s.now < t.quiet+grace", "false"),
			in("protocol.facts.takeDue", "grace", "0"),
		}},
		{"foreign: takes at once", "foreign pending runs are left to foreign members for a while", []change{in("protocol.facts.takeDue", "s.now >= until", "true")}},
		{"foreign: finished runs again", "a foreign pending run that had ended does not run again", []change{in("protocol.State.wasIdle", "s.unaccountedRun(_) == nil", "false")}},
		{"evidence: none", "a new owner does not run again what foreign members were seen to run", []change{in("protocol.State.seeRuns", "case it.Marks != w.marks[_]:", "case false:")}},
		{"reclaim-foreign: any ended", "a foreign member that died in a run has not ended it", []change{in("protocol.State.watchForeign", "s.endedFirst(_)", "true")}},
		{"reclaim-foreign: never", "a run that a foreign member had open when it died runs again", []change{noRule("reclaim-foreign")}},
		{"reclaim-foreign: records unchecked", "foreign runs become pending only if no member has begun anything since", []change{noFence("reclaim-foreign/records")}},
		{"reclaim-foreign: back meanwhile", "a foreign member that has come back is not dead", []change{noFence("reclaim-foreign/away")}},
		{"leave: its nodes stay", "a member that leaves in order removes the owners' nodes that name it", []change{in("protocol.facts.leaveOwners", "s.takenForDead()", "false")}},
		{"leave: only what fits", "nodes that do not fit into the transaction of the leave go before", []change{in("protocol.facts.leaveOwners", "return DeleteOwners{Items: some}", "_ = some")}},
		{"leave: after a new assignment", "a leave in flight is refused if a foreign leader assigns meanwhile", []change{noFence("delete-owners/seal")}},
		{"leave: during an assignment", "a leaving member waits until the items are assigned and adopted", []change{in("protocol.facts.leaveOwners", "s.awaitsForeignAssignment()", "false")}},
		{"strategy: unknown", "a member that does not know the strategy does not lead beside members that do", []change{in("protocol.State.strategyIsForeign", "c != nil", "false")}},
	}
}
