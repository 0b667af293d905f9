package sim

// clusterMutants remove rules of what members do for one another: failover,
// resharding, joining and leaving, the lead, servers.
func clusterMutants() []mutant {
	const (
		failover   = "protocol/failover.go"
		sharding   = "protocol/sharding.go"
		parts      = "protocol/parts.go"
		fire       = "protocol/fire.go"
		execution  = "protocol/execution.go"
		membership = "protocol/membership.go"
		step       = "protocol/step.go"
		view       = "protocol/view.go"
		encode     = "layout/encode.go"
	)
	return []mutant{
		{"enqueue: owner unchecked", "a run waits for a taker only if its owner has not begun a later one", []edit{
			{encode, "\tt.own(m.Self, m.Own)\n\tt.checkRuns(m.Check)\n\tt.pend(m.Pend)\n", "\tt.own(m.Self, m.Own)\n\tt.pend(m.Pend)\n"},
		}},
		{"enqueue: any epoch", "the dead's record is folded into the assignment that was read", []edit{
			{encode, "\t\tt.delete(t.runsOf(m.Dead), t.version(m.Dead))\n\t}\n\tt.setAssignment(&m.Next)\n", "\t\tt.delete(t.runsOf(m.Dead), t.version(m.Dead))\n\t}\n\tt.op(registry.Set, t.at(nodeAssignment), encodeAssignment(&m.Next), registry.AnyVersion)\n"},
		}},
		{"enqueue: rows lost", "the dead's rows go on in the record of who ends it", []edit{
			{failover, "for _, r := range d.Rows[:rows] {\n\t\tm.Own.row(r)", "for _, r := range d.Rows[:rows] {\n\t\t_ = r"},
		}},
		{"enqueue: triggers lost", "the dead's accepted triggers get rows", []edit{
			{failover, "for _, t := range d.Triggers {", "for _, t := range d.Triggers[:0] {"},
		}},
		{"enqueue: no fold", "the dead's last instants go into the assignment", []edit{
			{failover, "m.Next.fold(&d.RunsData)", "m.Next.fold(&RunsData{Requested: d.Requested})"},
		}},
		{"enqueue: the living", "a member without registration is not dead while its own node lives", []edit{
			{view, "return v.instance(id) == nil && !v.member(id) }", "return v.instance(id) == nil }"},
		}},
		{"enqueue: never", "the record of a dead member is ended", []edit{
			{step, "\t\tenqueue, ", "\t\t"},
		}},
		{"enqueue: failover off", "without failover an orphan gets its row", []edit{
			{failover, "case !v.Config.Failover:\n\t\treturn \"the server died; failover is off\"", "case false:\n\t\treturn \"\""},
			{failover, "!s.works() || !v.Config.Failover ||", "!s.works() ||"},
			{failover, "\t\tcase !v.Config.Failover:\n\t\t\twhy = \"failover was switched off\"\n", ""},
		}},
		{"enqueue: overtaken", "an orphan whose next instant was begun gets its row", []edit{
			{failover, "\tcase s.later(e):\n\t\treturn \"the server died; the next instant had come\"\n", ""},
		}},
		{"take: assignment unchecked", "a take holds only in the epoch in which it was decided", []edit{
			{encode, "func (t *transaction) takeOver(m protocol.Take) {\n\tt.checkAssignment()\n", "func (t *transaction) takeOver(m protocol.Take) {\n"},
		}},
		{"take: pending kept", "a take deletes the pending mark", []edit{
			{encode, "\tt.own(m.Self, m.Own)\n\tt.unpend(m.Items)\n\tfor _, i := range m.Items {", "\tt.own(m.Self, m.Own)\n\tfor _, i := range m.Items {"},
		}},
		{"take: no failover mark", "a taken item is marked, so that its owner lets it be", []edit{
			{encode, "\t\tt.ephemeral(t.item(i, markFailover), string(m.Self))\n", ""},
		}},
		{"take: overtaken", "an orphan whose next instant has come is not taken", []edit{
			{failover, "s.busy(p.Item) || s.later(p.Entry) || !it.Exists", "s.busy(p.Item) || !it.Exists"},
		}},
		{"take: paused", "a paused job takes nothing", []edit{
			{failover, "|| v.Paused || len(v.Pending) == 0", "|| len(v.Pending) == 0"},
		}},
		{"take: disabled item", "a disabled item is not taken", []edit{
			{failover, "it.Failover != \"\" || it.Disabled || p.Item >= v.total()", "it.Failover != \"\" || p.Item >= v.total()"},
		}},
		{"take: no free slot", "a member takes no more than it has slots", []edit{
			{failover, "if s.o.Slots > 0 && len(m.Own.Open) >= s.o.Slots {", "if false {"},
		}},
		{"take: same attempt", "a takeover is the next attempt", []edit{
			{failover, "\t\te.Attempt++\n", ""},
		}},
		{"take: no row", "the attempt that a takeover ends gets a row", []edit{
			{failover, "\t\tm.Own.row(Row{Entry: p.Entry, State: TakenOver, Why: \"the server died\", Ended: s.now, By: p.Dead})\n", ""},
		}},
		{"take: never", "an orphan is taken by somebody", []edit{
			{step, " take, operate,", " operate,"},
		}},
		{"drop: never", "a pending run that nobody may take gets its row", []edit{
			{step, "begin, drop, ", "begin, "},
		}},
		{"reshard: records unchecked", "no record changed since the reshard was decided", []edit{
			{encode, "func (t *transaction) reshard(m protocol.Reshard) {\n\tt.checkRuns(m.Check)\n", "func (t *transaction) reshard(m protocol.Reshard) {\n"},
		}},
		{"reshard: moves what runs", "an item that is open does not change hands", []edit{
			{sharding, "if s.movesRunning(&next) {", "if false {"},
		}},
		{"reshard: dead ignored", "nothing moves before the dead are accounted for", []edit{
			{failover, "if d := s.deadRecord(); d != nil && d.ID != s.self {", "if d := s.deadRecord(); d != nil && d.ID != s.self && !v.Necessary {"},
			{sharding, "s.deadRecord() != nil || s.tooEarly()", "s.tooEarly()"},
			{sharding, "\tfor k := range s.view.Runs {\n\t\tfor _, e", "\tfor k := range s.view.Runs {\n\t\tif s.view.dead(s.view.Runs[k].ID) {\n\t\t\tcontinue\n\t\t}\n\t\tfor _, e"},
			{"protocol/adopt.go", "\tfor k := range s.view.Runs {\n\t\tids =", "\tfor k := range s.view.Runs {\n\t\tif s.view.dead(s.view.Runs[k].ID) {\n\t\t\tcontinue\n\t\t}\n\t\tids ="},
		}},
		{"reshard: no fold", "a reshard takes everybody's last instants into the assignment", []edit{
			{"protocol/adopt.go", "next.fold(&s.view.Runs[k].RunsData)", "next.fold(&RunsData{Requested: s.view.Runs[k].Requested})"},
		}},
		{"reshard: surplus forgotten", "the last instants of items beyond the total are kept", []edit{
			{sharding, "\tm := Reshard{Check: check, Moving", "\tnext.Last = next.Last[:min(len(next.Last), req.Total)]\n\tm := Reshard{Check: check, Moving"},
		}},
		{"reshard: surplus kept", "items beyond the total are removed", []edit{
			{parts, "\t\t\tm.Remove = append(m.Remove, i)\n", ""},
		}},
		{"reshard: occupied unnoticed", "a node that cannot be deleted does not keep the job from going on", []edit{
			{step, "\t\ts.occupy(in, f)\n", ""},
		}},
		{"reshard: occupied forever", "what is ours below an item that cannot go does go", []edit{
			{encode, "\tfor _, i := range keep {\n", "\tfor _, i := range keep[:0] {\n"},
		}},
		{"reshard: mark kept", "a reshard takes its mark away", []edit{
			{encode, "\tt.delete(t.at(nodeNecessary), t.v.NecessaryV) // nobody has joined since\n", ""},
		}},
		{"reshard: joins unnoticed", "nobody has joined since the reshard was decided", []edit{
			{encode, "t.delete(t.at(nodeNecessary), t.v.NecessaryV)", "t.delete(t.at(nodeNecessary), registry.AnyVersion)"},
		}},
		{"parts: joins unnoticed", "nobody has joined since a reshard in parts was decided", []edit{
			{encode, "\t\tt.op(registry.Check, t.at(nodeNecessary), nil, t.v.NecessaryV) // nobody has joined since\n", ""},
		}},
		{"parts: mark taken away", "the mark stays until the last part", []edit{
			{encode, "\tif m.Last {\n\t\tt.resharded()\n\t}\n", "\tif !t.v.Processing {\n\t\tt.resharded()\n\t}\n"},
		}},
		{"parts: mark kept", "the last part takes the mark away", []edit{
			{encode, "\tif m.Last {\n\t\tt.resharded()\n\t}\n", ""},
		}},
		{"parts: assignment unchecked", "a part holds for the assignment that it spells", []edit{
			{encode, "func (t *transaction) owners(m protocol.Owners) {\n\tt.checkAssignment()\n", "func (t *transaction) owners(m protocol.Owners) {\n"},
		}},
		{"parts: dealt for others", "parts go on only for the members and the total that were dealt to", []edit{
			{parts, "v.Assignment.Version == s.parts.epoch && v.NecessaryV == s.parts.mark && v.Assignment.fits(v.total(), eligible)", "v.Assignment.fits(v.Assignment.Total, v.Assignment.Members)"},
		}},
		{"parts: never", "what does not fit into one transaction follows in others", []edit{
			{sharding, "\tif s.dealt(el) {\n\t\treturn s.deal()\n\t}\n", ""},
		}},
		{"parts: all at once", "a reshard writes no more nodes at once than the registry takes", []edit{
			{sharding, "if o := s.owners(&next, s.room()); o.Last && !m.Pause {", "if o := s.owners(&next, s.room()); !m.Pause {"},
		}},
		{"parts: begins at once", "a begin writes no more nodes than the registry takes", []edit{
			{execution, "\treturn b.room.take(n)\n", "\treturn true || b.room.take(n)\n"},
		}},
		{"parts: begins once", "who does not fit into the begin of an instant begins after it", []edit{
			{step, "if s.tick.At == f.tick && !m.More {", "if s.tick.At == f.tick {"},
		}},
		{"parts: ends at once", "an end writes no more nodes than the registry takes", []edit{
			{execution, "if len(items) == rows || !r.take(s.view.item(g.Item).ended()) {", "if len(items) == rows || r.max < 0 && !r.take(s.view.item(g.Item).ended()) {"},
		}},
		{"parts: takes at once", "a take writes no more nodes than the registry takes", []edit{
			{failover, "if !r.take(nodes) {", "if r.max < 0 {"},
		}},
		{"parts: enqueues at once", "the end of a record writes no more nodes than the registry takes", []edit{
			{failover, "\t\tif !r.take(2) { // one that says much\n\t\t\tbreak\n\t\t}\n\t\topen++\n", "\t\tif r.max < 0 {\n\t\t\tbreak\n\t\t}\n\t\topen++\n"},
		}},
		{"parts: rest lost", "what is left of a dead member's record stays until it is taken", []edit{
			{encode, "\tif m.Rest != nil {\n\t\tt.own(m.Dead, *m.Rest)\n\t} else {", "\t{"},
		}},
		{"reshard: asked meanwhile", "nobody whose items move was asked since the reshard was decided", []edit{
			{encode, "if slices.Contains(ids, in.ID) {", "if false {"},
		}},
		{"reshard: late answer", "the strategy's answer counts only for the question that still stands", []edit{
			{step, "if s.asked != nil && s.asked.equal(in.Request) {", "if s.asked != nil {"},
			{sharding, "if s.answer == nil || !s.answer.Request.equal(req) {", "if s.answer == nil {"},
		}},
		{"reshard: no marks by level", "the leader sees by itself that the assignment does not fit", []edit{
			{step, "operate, markReshard, ", "operate, "},
		}},
		{"reshard: never starts anew", "what comes due while the first reshard is awaited is accounted for", []edit{
			{"protocol/strangers.go", "next.Last = set(next.Last, i, max(s.markSince, 1))", "_ = i"},
		}},
		{"leave: no fold", "who leaves leaves its last instants in the assignment", []edit{
			{membership, "next.fold(&own.RunsData)", "next.fold(&RunsData{Requested: own.Requested})"},
		}},
		{"leave: assignment not set", "who leaves starts a new epoch", []edit{
			{encode, "\tt.delete(t.runsOf(m.Self), t.version(m.Self))\n\tt.setAssignment(&m.Next)\n", "\tt.delete(t.runsOf(m.Self), t.version(m.Self))\n"},
		}},
		{"leave: rows unstored", "nobody leaves before its rows are stored", []edit{
			{membership, "len(own.Triggers) > 0 || len(s.unstored(own)) > 0 ||", "len(own.Triggers) > 0 ||"},
		}},
		{"leave: runs open", "nobody leaves before its runs have ended", []edit{
			{membership, "len(own.Open) > 0 || len(s.guests) > 0 || len(own.Retries) > 0 || len(own.Triggers)", "len(own.Triggers)"},
		}},
		{"leave: triggers waiting", "nobody leaves before its triggers are accounted for", []edit{
			{membership, "len(own.Triggers) > 0 || len(s.unstored(own))", "len(s.unstored(own))"},
		}},
		{"leave: request waiting", "nobody leaves before it has declined what it was asked", []edit{
			{membership, "if own == nil || s.triggered() {", "if own == nil {"},
		}},
		{"leave: asked meanwhile", "nobody leaves who was asked since that was decided", []edit{
			{encode, "t.delete(t.Instance(m.Self), in.Version)", "t.delete(t.Instance(m.Self), registry.AnyVersion)"},
		}},
		{"leave: begins on", "who is leaving begins nothing", []edit{
			{membership, "s.config() != nil && !s.leaving && s.doubt == Trusted &&", "s.config() != nil && s.doubt == Trusted &&"},
		}},
		{"join: id in assignment", "a new member takes an id that the assignment does not know", []edit{
			{membership, "v.Leader == id ||\n\t\tslices.Contains(v.Assignment.Owners, id) || slices.Contains(v.Assignment.Members, id) {", "v.Leader == id {"},
			{membership, "if it.Owner == id || it.Failover == id {", "if it.Failover == id {"},
		}},
		{"join: id in use", "a new member takes an id that nobody has", []edit{
			{membership, "for n := 1; s.view.occurs(id); n++ {", "for n := 1; false; n++ {"},
		}},
		{"join: server overwritten", "an operator's word about a server is not overwritten at start", []edit{
			{encode, "\tif !slices.ContainsFunc(t.v.Servers, func(s protocol.Server) bool { return s.IP == ip }) {\n", "\tif slices.ContainsFunc(t.v.Servers, func(s protocol.Server) bool { return s.IP == ip }) {\n\t\tt.op(registry.Set, t.server(ip), nil, registry.AnyVersion)\n\t} else {\n"},
		}},
		{"elect: never", "somebody leads", []edit{
			{step, "setServer, abdicate, elect,", "setServer, abdicate,"},
		}},
		{"elect: on a disabled server", "a member on a disabled server does not lead", []edit{
			{"protocol/election.go", "s.view.instance(s.self) != nil && !s.disabledHere() && !s.puzzled()", "s.view.instance(s.self) != nil && !s.puzzled()"},
			{step, "setServer, abdicate, elect,", "setServer, elect,"},
		}},
		{"abdicate: never", "a leader whose server is disabled gives up the lead", []edit{
			{step, "setServer, abdicate, elect,", "setServer, elect,"},
		}},
		{"server: not healed", "a live member's server node is created again", []edit{
			{step, "leave, setServer, abdicate,", "leave, abdicate,"},
		}},
		{"prune: never", "servers that are long gone are removed", []edit{
			{step, "forget, pruneServers,", "forget,"},
		}},
		{"prune: disabled", "a disabled server is an operator's word and stays", []edit{
			{membership, "if sv.Disabled || sv.Occupied || slices.ContainsFunc(", "if sv.Occupied || slices.ContainsFunc("},
		}},
		{"prune: any version", "a server that an operator disables meanwhile stays", []edit{
			{encode, "t.delete(j.server(s.IP), s.Version)", "t.delete(j.server(s.IP), registry.AnyVersion)"},
		}},
		{"tell: never", "listeners of fires are called", []edit{
			{step, " tell,\n", "\n"},
		}},
		{"tell: too early", "a fire has started when every item has begun it", []edit{
			{fire, "oldest == 0 || t < oldest {", "oldest == 0 || t > oldest {"},
		}},
		{"tell: ended too early", "a fire is completed when all its runs have ended", []edit{
			{fire, "\t\tif !s.ended(at) {\n\t\t\treturn nil\n\t\t}\n", ""},
		}},
		{"tell: beside the living", "nobody calls a listener that another one is calling", []edit{
			{fire, "case !s.view.dead(t.By):\n\t\t\treturn nil\n", ""},
		}},
		{"tell: for the dead never", "who leads next calls what the dead one was calling", []edit{
			{fire, "case !s.view.dead(t.By):", "case true:"},
		}},
		{"tell: any version", "what was told is written over what was read", []edit{
			{encode, "encodeFires(next), t.v.Fires.Version)", "encodeFires(next), registry.AnyVersion)"},
		}},
		{"tell: in doubt", "a call ends with the trust in the session", []edit{
			{"protocol/guests.go", "\t\ts.hush(p) // who leads next calls again\n", ""},
		}},
		{"tell: cut", "a call that was cut off is made again", []edit{
			{fire, "t.cut && !s.leaving {", "false {"},
		}},
		{"strangers: works beside", "nothing that is not monitored runs beside a member that is not ours", []edit{
			{membership, "case !c.MonitorExecution:", "case false:"},
		}},
		{"skew: works all the same", "who has the wrong time begins nothing, if the job says so", []edit{
			{membership, "s.apart() == \"\" && !s.skewed()", "s.apart() == \"\""},
		}},
		{"server: works disabled", "a disabled server begins nothing", []edit{
			{membership, "s.view.instance(s.self) != nil && !s.disabledHere() &&", "s.view.instance(s.self) != nil &&"},
		}},
		{"server: disabled is eligible", "a disabled server owns nothing", []edit{
			{view, "if !v.serverDisabled(in.ID.IP()) {\n\t\t\tids", "if true {\n\t\t\tids"},
		}},
	}
}
