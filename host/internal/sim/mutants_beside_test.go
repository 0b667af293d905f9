package sim

// besideMutants remove rules of what members of ElasticJob in the same job need,
// and of what is made of theirs.
func besideMutants() []mutant {
	const (
		adopt     = "protocol/adopt.go"
		election  = "protocol/election.go"
		execution = "protocol/execution.go"
		failover  = "protocol/failover.go"
		parts     = "protocol/parts.go"
		sharding  = "protocol/sharding.go"
		step      = "protocol/step.go"
		strangers = "protocol/strangers.go"
		orphans   = "protocol/orphans.go"
		encode    = "layout/encode.go"
	)
	return []mutant{
		{"latch: out of turn to lead", "who becomes leader is first in the queue", []edit{
			{election, "place, first := s.place(ElectionLatch)", "place, _ := s.place(ElectionLatch)\n\tfirst := place != \"\""},
		}},
		{"latch: out of turn to take", "who takes beside members of ElasticJob is first in the queue", []edit{
			{failover, "place, first := s.place(FailoverLatch)", "place, _ := s.place(FailoverLatch)\n\tfirst := place != \"\""},
		}},
		{"latch: kept", "who does not want its turn leaves the queue", []edit{
			{step, "join, withdraw, leave,", "join, leave,"},
		}},
		{"latch: held after the take", "a take gives up the place in the queue", []edit{
			{encode, "\tif m.Place != \"\" {\n\t\tt.delete(t.place(protocol.FailoverLatch, m.Place), registry.AnyVersion)\n\t}\n", ""},
			{step, "join, withdraw, leave,", "join, leave,"},
		}},
		{"two steps: at once", "beside members of ElasticJob an owner's node that changes is deleted first", []edit{
			{sharding, "m.Strip = s.stripped(&next, s.room())", "m.Strip = nil"},
		}},
		{"two steps: no pause", "it is made again after a while", []edit{
			{parts, "return 20 + int64(total)/10 }", "return int64(total) / 1000 }"},
		}},
		{"two steps: new deal", "it is made again after a while, also when the items have been dealt anew since", []edit{
			{sharding, "m.Pause = len(m.Strip) > 0 || v.bereft()", "m.Pause = len(m.Strip) > 0"},
		}},
		{"adopt: never", "what a leader of ElasticJob has dealt becomes the assignment", []edit{
			{step, "reshard, adopt,", "reshard,"},
		}},
		{"adopt: nodes unchecked", "what is adopted is what the nodes still say", []edit{
			{encode, "\t\tt.checkOwners(m.Items)\n", ""},
		}},
		{"adopt: moves what runs", "an item that is open does not change hands, whoever deals", []edit{
			{adopt, "next.Owners[e.Item] = owner\n", "_ = owner\n"},
		}},
		{"adopt: a new deal", "what is adopted is the deal that was seen, not the next one", []edit{
			{encode, "\t\tif !t.checkSeal() {\n", "\t\tif !t.v.Sealed {\n"},
		}},
		{"adopt: records unchecked", "no record changed since it was seen what is to be adopted", []edit{
			{encode, "\t\tt.checkRuns(m.Check)\n\t\tt.unasked(m.Moving)\n\t\tt.checkOwners(m.Items)\n", "\t\tt.unasked(m.Moving)\n\t\tt.checkOwners(m.Items)\n"},
		}},
		{"adopt: requests left behind", "an item that a leader of ElasticJob moves away from a request gets a row", []edit{
			{adopt, "\ts.unaccepted(&next, &own)\n", ""},
		}},
		{"reshard: moves what theirs run", "an item that a member of ElasticJob runs does not change hands", []edit{
			{sharding, "it.Running != 0 && next.owner(i) != it.Owner", "it.Running < 0 && next.owner(i) != it.Owner"},
		}},
		{"begin: a leader's word", "beside members of ElasticJob an item begins if its owner's node has not changed", []edit{
			{encode, "\tif m.Shared {\n\t\tt.checkOwners(m.Begun)\n", "\tif m.Shared {\n"},
		}},
		{"begin: over a new deal", "a begin that is on its way while a leader of ElasticJob deals is refused", []edit{
			{encode, "\t\tt.checkOwners(m.Begun)\n\t\tt.checkSeal()\n", "\t\tt.checkOwners(m.Begun)\n"},
		}},
		{"begin: unsealed", "under a leader of ElasticJob nothing begins before somebody has adopted what it dealt", []edit{
			{execution, "case s.waits(), s.view.unsealed():", "case s.waits():"},
		}},
		{"mark: overlooked", "a leader of ElasticJob deals anew for who came while it dealt", []edit{
			{sharding, "s.tick.At == 0 && s.overlooked()", "false"},
		}},
		{"mark: abandoned", "an item whose owner is gone is asked for under a leader of ElasticJob", []edit{
			{sharding, "(s.abandoned() || s.tick.At == 0 && s.overlooked())", "s.tick.At == 0 && s.overlooked()"},
		}},
		{"strangers: no grace", "who may only have lost its connection is not dead", []edit{
			{strangers, "const grace = 500", "const grace = 0"},
		}},
		{"strangers: takes at once", "what a member of ElasticJob left to its own kind is theirs for a while", []edit{
			{orphans, "\treturn s.now >= until\n", "\treturn true || s.now >= until\n"},
		}},
		{"strangers: finished runs again", "of what members of ElasticJob leave nothing runs again that had ended", []edit{
			{orphans, "return s.evidence(p.Item) == nil && s.latest.At > 0", "return false && s.evidence(p.Item) == nil && s.latest.At > 0"},
		}},
		{"evidence: none", "what members of ElasticJob were seen to run is not run again by who gets the item", []edit{
			{strangers, "case it.Marks != w.marks[i]:", "case false:"},
		}},
		{"orphan: never", "what a member of ElasticJob had open when it died is run again", []edit{
			{step, "enqueue, orphan, take,", "enqueue, take,"},
		}},
		{"orphan: records unchecked", "what strangers had open becomes pending only if nobody has begun anything since", []edit{
			{encode, "\t\tt.own(m.Self, m.Own)\n\t\tt.checkRuns(m.Check)\n\t\tt.stillAway(m.Pend)\n", "\t\tt.own(m.Self, m.Own)\n\t\tt.stillAway(m.Pend)\n"},
		}},
		{"orphan: back meanwhile", "who has come back is not dead", []edit{
			{encode, "\t\tt.stillAway(m.Pend)\n", ""},
		}},
		{"strategy: unknown", "who does not know the strategy does not lead beside those who do", []edit{
			{election, "return c != nil && s.view.foreign() && s.o.Knows != nil && !s.o.Knows(c.Strategy)", "return false && c != nil"},
		}},
	}
}
