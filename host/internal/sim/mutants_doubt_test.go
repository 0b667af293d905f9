package sim

// mirrorMutants leave out rules about when a view may be shown and acted on.
func mirrorMutants() []mutant {
	return []mutant{
		{"mirror: unsettled", "nothing is decided while a path is dirty or being read", []change{in("mirror.Mirror.Settled", "m.unsettled == 0", "true")}},
		{"mirror: no reread", "after a reconnect everything is read again", []change{without("mirror.Mirror.Event", "m.Reread()")}},
		{"mirror: event ignored", "a changed node is read again", []change{in("mirror.Mirror.changed", "own.count(_)", "if name == m.names[len(m.names)-3] {\nreturn\n}\nown.count(e)")}},
		{"mirror: own writes uncounted", "a member knows what its transaction made of a node only if no other one changed it", []change{in("mirror.Mirror.Answered", "w.events == 1", "true")}},
		{"view: acts on the old one", "after the answer to a commit nothing is decided before the next view", []change{without("protocol.State.committed", "s.commits.awaitsView = true")}},
		{"view: two in flight", "one commit is under way at a time", []change{in("protocol.State.settled", "s.commits.flight == nil", "true")}},
		{"outcome: no sync", "an outcome is settled by a view read after a sync", []change{in("protocol.State.committed", "s.commits.flight = nil", "s.commits.flight = nil\ndefer func() {\nkept := p.Effects[:0]\nfor _, e := range p.Effects {\nif e != (Sync{}) && e != (Reread{}) {\nkept = append(kept, e)\n}\n}\np.Effects = kept\n}()")}},
	}
}

// wordMutants leave out rules of self-fencing and of operators' settings.
func wordMutants() []mutant {
	return []mutant{
		{"doubt: none", "a member without answers from the registry ends its guests", []change{without("protocol.State.receive", "s.doubted(_, _)")}},
		{"doubt: guests start", "a member in doubt starts no guest of a commit", []change{in("protocol.State.start", "s.session.health != Trusted", "false")}},
		{"doubt: guests start by level", "a member in doubt starts no guest of an open entry", []change{in("protocol.State.act", "s.session.health != Trusted", "false")}},
		{"doubt: no hard end", "at three quarters of the time-out the last guest is ended", []change{in("protocol.State.doubted", "s.cancel(_, level == Expired, _, _)", `s.cancel(g.Item, false, "the registry session is in doubt", p)`)}},
		{"config: any version", "a configuration is written over the one that was read", []change{noFence("put-config/config")}},
		{"switch-module: impatient", "a module is switched when every member has the next one", []change{in("protocol.switchModule", "m.Ready != _", "m.ID == s.self && m.Ready != Ready{Digest: v.Next}")}},
		{"switch-module: faults ignored", "a member that cannot have the next module holds the switch up", []change{in("protocol.switchModule", "m.Ready != _", "m.Ready.Digest != v.Next")}},
		{"switch-module: joins unnoticed", "no member has joined since the switch was decided", []change{noFence("switch/joins")}},
		{"join: unnoticed", "a join refuses what was decided without it", []change{without("jobtree.transaction.join", "t.op(registry.Set, t.at(NodeMembers), nil, _)")}},
		{"define: stale request", "a definition derived from an older module is refused", []change{in("protocol.View.define", "v.moduleVersion() != a.HaveModule", "false")}},
		{"define: unchecked", "a definition derived from an older configuration is refused, also when it comes late", []change{noFence("define/config")}},
		{"config: stale request", "a request derived from an older configuration is refused", []change{in("protocol.Fulfil", "v.ConfigVersion != a.Have", "false")}},
		{"config: total unnoticed", "a new total counts", []change{
			in("protocol.Assignment.fits", "a.Total == total", "true"),
			in("protocol.State.stale", "i < len(v.Items)", "false"),
		}},
		{"config: cron unnoticed", "a new cron counts", []change{in("protocol.State.followSchedule", "*s.schedule.cron != cron", "false")}},
		{"request: never answered", "a request ends with an answer", []change{
			in("protocol.State.applied", "f.ask != 0", "false"),
			in("protocol.fulfilRequest", "s.note(answered{_, _})", "_ = fault; return nil"),
		}},
		{"shutdown: unnoticed", "an instance whose registration an operator deletes shuts down", []change{in("protocol.State.observe", "v.instance(s.self) == nil", "false")}},
	}
}
