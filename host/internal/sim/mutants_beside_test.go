package sim

// besideMutants remove rules of what members of ElasticJob in the same job need,
// and of what is made of theirs.
func besideMutants() []mutant {
	return []mutant{
		{"latch: out of turn to lead", "who becomes leader is first in the queue", []change{in("protocol.elect", "s.place(ElectionLatch)", `func() (string, bool) { place, _ := s.place(ElectionLatch); return place, place != "" }()`)}},
		{"latch: out of turn to take", "who takes beside members of ElasticJob is first in the queue", []change{in("protocol.take", "s.place(FailoverLatch)", `func() (string, bool) { place, _ := s.place(FailoverLatch); return place, place != "" }()`)}},
		{"latch: kept", "who does not want its turn leaves the queue", []change{noRule("withdraw")}},
		{"latch: held after the take", "a take gives up the place in the queue", []change{
			in("layout.transaction.takeOver", `m.Place != ""`, "false"),
			noRule("withdraw"),
		}},
		{"two steps: at once", "beside members of ElasticJob an owner's node that changes is deleted first", []change{in("protocol.reshard", "s.stripped(_, _)", "nil")}},
		{"two steps: no pause", "it is made again after a while", []change{in("protocol.lag", "20 + int64(total)/10", "int64(total) / 1000")}},
		{"two steps: new deal", "it is made again after a while, also when the items have been dealt anew since", []change{in("protocol.reshard", "v.bereft()", "false")}},
		{"two steps: of another leader", "so is one that the leader before has written since the new assignment was decided", []change{in("protocol.State.deal", "s.view.foreign()", "false")}},
		{"two steps: over a new deal", "a part that is on its way while a leader of ElasticJob deals is refused", []change{
			in("layout.transaction.reshard", "t.op(registry.Set, t.at(nodeNecessary), nil, _)", "t.op(registry.Check, t.at(nodeNecessary), nil, t.v.NecessaryV)"),
			in("protocol.State.applied", "f.view.NecessaryV + 1", "f.view.NecessaryV"),
		}},
		{"adopt: never", "what a leader of ElasticJob has dealt becomes the assignment", []change{noRule("adopt")}},
		{"adopt: nodes unchecked", "what is adopted is what the nodes still say", []change{noFence("adopt/owners")}},
		{"adopt: moves what runs", "an item that is open does not change hands, whoever deals", []change{without("protocol.adopt", "next.Owners[e.Item] = owner")}},
		{"adopt: a new deal", "what is adopted is the deal that was seen, not the next one", []change{noFence("adopt/seal")}},
		{"adopt: records unchecked", "no record changed since it was seen what is to be adopted", []change{noFence("adopt/records")}},
		{"adopt: requests left behind", "an item that a leader of ElasticJob moves away from a request gets a row", []change{without("protocol.adopt", "s.unaccepted(_, _)")}},
		{"reshard: moves what theirs run", "an item that a member of ElasticJob runs does not change hands", []change{in("protocol.State.movesRunning", "it.Running != 0", "false")}},
		{"begin: a leader's word", "beside members of ElasticJob an item begins if its owner's node has not changed", []change{noFence("begin/owners")}},
		{"begin: over a new deal", "a begin that is on its way while a leader of ElasticJob deals is refused", []change{noFence("begin/seal")}},
		{"begin: unsealed", "under a leader of ElasticJob nothing begins before somebody has adopted what it dealt", []change{in("protocol.begin", "s.view.unsealed()", "false")}},
		{"mark: overlooked", "a leader of ElasticJob deals anew for who came while it dealt", []change{in("protocol.markReshard", "s.overlooked()", "false")}},
		{"mark: overlooked twice", "it does so also for whom the deal passed over that had begun before the wish", []change{in("protocol.State.overlooked", "s.wishes >= mostWishes", "true")}},
		{"mark: abandoned", "an item whose owner is gone is asked for under a leader of ElasticJob", []change{in("protocol.markReshard", "s.abandoned()", "false")}},
		{"strangers: what they take stays", "what strangers took over as failover was switched off is given back", []change{without("protocol.clearMarks", "m.Failover, left = append(m.Failover, items...), true")}},
		{"orphan: about to be back", "who writes its server's node is about to come back", []change{in("protocol.State.watchStrangers", "version != t.server", "false")}},
		{"strangers: named too early", "what they leave is named by who knows the newest instant", []change{in("protocol.State.ripe", "!s.dated", "false")}},
		{"strangers: no grace", "who may only have lost its connection is not dead", []change{
			in("protocol.orphan", "s.now < t.quiet+grace", "false"),
			in("protocol.State.ripe", "grace", "0"),
		}},
		{"strangers: takes at once", "what a member of ElasticJob left to its own kind is theirs for a while", []change{in("protocol.State.ripe", "s.now >= until", "true")}},
		{"strangers: finished runs again", "of what members of ElasticJob leave nothing runs again that had ended", []change{in("protocol.State.idle", "s.evidence(_) == nil", "false")}},
		{"evidence: none", "what members of ElasticJob were seen to run is not run again by who gets the item", []change{in("protocol.State.seeRuns", "case it.Marks != w.marks[_]:", "case false:")}},
		{"orphan: never", "what a member of ElasticJob had open when it died is run again", []change{noRule("orphan")}},
		{"orphan: records unchecked", "what strangers had open becomes pending only if nobody has begun anything since", []change{noFence("orphan/records")}},
		{"orphan: back meanwhile", "who has come back is not dead", []change{noFence("orphan/away")}},
		{"leave: its nodes stay", "who leaves in order takes the owners' nodes that name it along", []change{in("protocol.State.disown", "s.listened()", "false")}},
		{"leave: only what fits", "those that do not fit into the transaction go before", []change{in("protocol.State.disown", "return Disown{Items: some}", "_ = some")}},
		{"leave: after a new deal", "a Leave that is on its way while a leader of ElasticJob deals is refused", []change{noFence("disown/seal")}},
		{"leave: during a deal", "who leaves waits until the items have been dealt, and somebody has adopted that", []change{in("protocol.State.disown", "s.leftToLeader()", "false")}},
		{"strategy: unknown", "who does not know the strategy does not lead beside those who do", []change{in("protocol.State.puzzled", "c != nil", "false")}},
	}
}
