package sim

// clusterMutants remove rules of what members do for one another: failover,
// resharding, joining and leaving, the lead, servers.
func clusterMutants() []mutant {
	const (
		failover   = "protocol/failover.go"
		sharding   = "protocol/sharding.go"
		membership = "protocol/membership.go"
		step       = "protocol/step.go"
		view       = "protocol/view.go"
		encode     = "layout/encode.go"
	)
	return []mutant{
		{"enqueue: owner unchecked", "a run waits for a taker only if its owner has not begun a later one", []edit{
			{encode, "\tt.checkRuns(m.Check)\n\tif len(m.Pend) == 0 {", "\tif len(m.Pend) == 0 {"},
		}},
		{"enqueue: any epoch", "the dead's record is folded into the assignment that was read", []edit{
			{encode, "\tt.delete(t.runsOf(m.Dead), t.version(m.Dead))\n\tt.setAssignment(&m.Next)\n", "\tt.delete(t.runsOf(m.Dead), t.version(m.Dead))\n\tt.op(registry.Set, t.at(nodeAssignment), encodeAssignment(&m.Next), registry.AnyVersion)\n"},
		}},
		{"enqueue: rows lost", "the dead's rows go on in the record of who ends it", []edit{
			{failover, "\t\tm.Own.row(r)\n\t}\n\tfor _, e := range d.Open {", "\t\t_ = r\n\t}\n\tfor _, e := range d.Open {"},
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
			{step, "\t\tenqueue, operate,", "\t\toperate,"},
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
			{step, "begin, take, drop,", "begin, drop,"},
		}},
		{"drop: never", "a pending run that nobody may take gets its row", []edit{
			{step, "begin, take, drop,", "begin, take,"},
		}},
		{"reshard: records unchecked", "no record changed since the reshard was decided", []edit{
			{encode, "func (t *transaction) reshard(m protocol.Reshard) {\n\tt.checkRuns(m.Check)\n", "func (t *transaction) reshard(m protocol.Reshard) {\n"},
		}},
		{"reshard: moves what runs", "an item that is open does not change hands", []edit{
			{sharding, "if s.movesRunning(&next) {", "if false {"},
		}},
		{"reshard: dead ignored", "nothing moves before the dead are accounted for", []edit{
			{failover, "!v.Assignment.Exists || s.doubt != Trusted {\n\t\treturn nil\n\t}\n\tfor k := range v.Runs {\n\t\td :=", "!v.Assignment.Exists || s.doubt != Trusted || v.Necessary {\n\t\treturn nil\n\t}\n\tfor k := range v.Runs {\n\t\td :="},
			{sharding, "\t\tif v.dead(v.Runs[k].ID) {\n\t\t\treturn nil\n\t\t}\n\t}\n\tel :=", "\t\t_ = k\n\t}\n\tel :="},
			{sharding, "\tfor k := range s.view.Runs {\n\t\tfor _, e", "\tfor k := range s.view.Runs {\n\t\tif s.view.dead(s.view.Runs[k].ID) {\n\t\t\tcontinue\n\t\t}\n\t\tfor _, e"},
			{sharding, "\tfor k := range v.Runs {\n\t\tcheck = append(check, v.Runs[k].ID)", "\tfor k := range v.Runs {\n\t\tif v.dead(v.Runs[k].ID) {\n\t\t\tcontinue\n\t\t}\n\t\tcheck = append(check, v.Runs[k].ID)"},
		}},
		{"reshard: no fold", "a reshard takes everybody's last instants into the assignment", []edit{
			{sharding, "next.fold(&v.Runs[k].RunsData)", "next.fold(&RunsData{Requested: v.Runs[k].Requested})"},
		}},
		{"reshard: surplus forgotten", "the last instants of items beyond the total are kept", []edit{
			{sharding, "\tm := Reshard{Check: check, Moving", "\tnext.Last = next.Last[:min(len(next.Last), req.Total)]\n\tm := Reshard{Check: check, Moving"},
		}},
		{"reshard: surplus kept", "items beyond the total are removed", []edit{
			{sharding, "\t\t\tm.Remove = append(m.Remove, i)\n", ""},
		}},
		{"reshard: occupied unnoticed", "a node that cannot be deleted does not keep the job from going on", []edit{
			{step, "\t\ts.occupy(in, f)\n", ""},
		}},
		{"reshard: occupied forever", "what is ours below an item that cannot go does go", []edit{
			{encode, "\tfor _, i := range m.Clear {\n", "\tfor _, i := range m.Clear[:0] {\n"},
		}},
		{"reshard: mark kept", "a reshard takes its mark away", []edit{
			{encode, "\tt.delete(t.at(nodeNecessary), t.v.NecessaryV) // nobody has joined since\n", ""},
		}},
		{"reshard: joins unnoticed", "nobody has joined since the reshard was decided", []edit{
			{encode, "t.delete(t.at(nodeNecessary), t.v.NecessaryV)", "t.delete(t.at(nodeNecessary), registry.AnyVersion)"},
		}},
		{"reshard: asked meanwhile", "nobody whose items move was asked since the reshard was decided", []edit{
			{encode, "if slices.Contains(m.Moving, in.ID) {", "if false {"},
		}},
		{"reshard: late answer", "the strategy's answer counts only for the question that still stands", []edit{
			{step, "if s.asked != nil && s.asked.equal(in.Request) {", "if s.asked != nil {"},
			{sharding, "if s.answer == nil || !s.answer.Request.equal(req) {", "if s.answer == nil {"},
		}},
		{"reshard: no marks by level", "the leader sees by itself that the assignment does not fit", []edit{
			{step, "operate, markReshard, reshard,", "operate, reshard,"},
		}},
		{"reshard: never starts anew", "what comes due while the first reshard is awaited is accounted for", []edit{
			{sharding, "next.Last = set(next.Last, i, max(s.markSince, 1))", "_ = i"},
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
			{membership, "len(own.Open) > 0 || len(s.guests) > 0 || len(own.Triggers)", "len(own.Triggers)"},
		}},
		{"leave: triggers waiting", "nobody leaves before its triggers are accounted for", []edit{
			{membership, "len(own.Triggers) > 0 || len(s.unstored(own))", "len(s.unstored(own))"},
		}},
		{"leave: request waiting", "nobody leaves before it has declined what it was asked", []edit{
			{membership, "if own == nil || s.triggered() && s.config() != nil {", "if own == nil {"},
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
			{"protocol/election.go", "s.view.instance(s.self) == nil || s.disabledHere() {", "s.view.instance(s.self) == nil {"},
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
			{membership, "if sv.Disabled || slices.ContainsFunc(", "if slices.ContainsFunc("},
		}},
		{"prune: any version", "a server that an operator disables meanwhile stays", []edit{
			{encode, "t.delete(j.server(s.IP), s.Version)", "t.delete(j.server(s.IP), registry.AnyVersion)"},
		}},
		{"strangers: works beside", "nothing runs beside a member that is not ours", []edit{
			{membership, "!s.disabledHere() && !s.view.foreign()", "!s.disabledHere()"},
		}},
		{"server: works disabled", "a disabled server begins nothing", []edit{
			{membership, "s.view.instance(s.self) != nil && !s.disabledHere() &&", "s.view.instance(s.self) != nil &&"},
		}},
		{"server: disabled is eligible", "a disabled server owns nothing", []edit{
			{view, "if !v.serverDisabled(in.ID.IP()) {\n\t\t\tids", "if true {\n\t\t\tids"},
		}},
	}
}
