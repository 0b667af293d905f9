package sim

// mirrorMutants remove rules of when a view may be published and acted on.
func mirrorMutants() []mutant {
	const (
		mirror = "mirror/mirror.go"
		step   = "protocol/step.go"
	)
	return []mutant{
		{"mirror: unsettled", "nothing is decided while a path is dirty or being read", []edit{
			{mirror, "func (m *Mirror) Settled() bool { return m.open == 0 && !m.down }", "func (m *Mirror) Settled() bool { return !m.down }"},
		}},
		{"mirror: no reread", "after a reconnect everything is read again", []edit{
			{mirror, "\t\tm.down = false\n\t\tm.Reread()\n", "\t\tm.down = false\n"},
		}},
		{"mirror: event ignored", "a changed node is read again", []edit{
			{mirror, "\town, n := m.own[name], m.entry(name)\n", "\tif name == m.names[len(m.names)-3] {\n\t\treturn\n\t}\n\town, n := m.own[name], m.entry(name)\n"},
		}},
		{"mirror: own writes uncounted", "what a transaction made of a node is known only if nobody else touched it", []edit{
			{"mirror/own.go", "w.plain && w.events == 1\n", "w.plain\n"},
		}},
		{"view: acts on the old one", "after the answer to a commit nothing is decided before the next view", []edit{
			{step, "\ts.flight = nil\n\ts.blind = true\n", "\ts.flight = nil\n"},
		}},
		{"view: two in flight", "one commit is under way at a time", []edit{
			{step, "return s.view != nil && s.flight == nil && !s.blind", "return s.view != nil && !s.blind"},
		}},
		{"outcome: no sync", "an outcome is settled by a view read after a sync", []edit{
			{step, "\t\ts.unanswered(f.room)\n\t\tp.add(Sync{})\n", "\t\ts.unanswered(f.room)\n"},
			{step, "\t\t\tp.add(Reread{})\n\t\t}\n\t\tp.add(Sync{})\n", "\t\t}\n"},
		}},
	}
}

// wordMutants remove rules of self-fencing and of operators' words.
func wordMutants() []mutant {
	const (
		guests     = "protocol/guests.go"
		membership = "protocol/membership.go"
		operate    = "protocol/operate.go"
		step       = "protocol/step.go"
		encode     = "layout/encode.go"
	)
	return []mutant{
		{"doubt: none", "a member that hears nothing from the registry ends its guests", []edit{
			{step, "\t\ts.doubted(in.Level, p)\n", ""},
		}},
		{"doubt: guests start", "a member in doubt starts no guest of a commit", []edit{
			{guests, "if s.doubt != Trusted || s.over {", "if s.over {"},
		}},
		{"doubt: guests start by level", "a member in doubt starts no guest of an open entry", []edit{
			{guests, "\tif s.doubt != Trusted {\n\t\treturn\n\t}\n\tfor _, e := range own.Open {", "\tfor _, e := range own.Open {"},
		}},
		{"doubt: no hard end", "at three quarters of the time-out the last guest is ended", []edit{
			{guests, "s.cancel(g.Item, level == Expired, \"the registry", "s.cancel(g.Item, false, \"the registry"},
		}},
		{"config: any version", "a configuration is written over the one that was read", []edit{
			{encode, "t.op(registry.Set, j.at(nodeConfig), m.Data, v.ConfigVersion)", "t.op(registry.Set, j.at(nodeConfig), m.Data, registry.AnyVersion)"},
		}},
		{"swap: impatient", "a module is switched when every member has the next one", []edit{
			{"protocol/swap.go", "if m.Ready != (Ready{Digest: v.Next}) {", "if m.ID == s.self && m.Ready != (Ready{Digest: v.Next}) {"},
		}},
		{"swap: faults unheard", "a member that cannot have the next module holds it up", []edit{
			{"protocol/swap.go", "if m.Ready != (Ready{Digest: v.Next}) {", "if m.Ready.Digest != v.Next {"},
		}},
		{"swap: joins unnoticed", "nobody has joined since the switch was decided", []edit{
			{"layout/encode.go", "\tt.nobodyJoined()\n\tt.op(registry.Set, t.at(nodeModule)", "\tt.op(registry.Set, t.at(nodeModule)"},
		}},
		{"join: unnoticed", "a member that joins is noticed by who decided without it", []edit{
			{"layout/encode.go", "\tt.op(registry.Set, t.at(nodeMembers), nil, registry.AnyVersion)\n", ""},
		}},
		{"define: stale wish", "a definition derived from an older module is refused", []edit{
			{"protocol/define.go", "case v.ConfigVersion != a.Have || v.moduleVersion() != a.HaveModule:", "case v.ConfigVersion != a.Have:"},
		}},
		{"define: unchecked", "a definition that leaves the configuration as it is checks it", []edit{
			{"layout/encode.go", "Kind: registry.Check, Path: t.at(nodeConfig), Version: t.v.ConfigVersion}", "Kind: registry.Check, Path: t.at(nodeConfig), Version: registry.AnyVersion}"},
		}},
		{"config: stale wish", "a wish derived from an older configuration is refused", []edit{
			{operate, "if v.ConfigVersion != a.Have {", "if false {"},
		}},
		{"config: total unnoticed", "a new total is obeyed", []edit{
			{"protocol/sharding.go", "return a.Total == total && slices.Equal(a.Members, eligible)", "return slices.Equal(a.Members, eligible)"},
			{"protocol/sharding.go", "for i := total; i < len(v.Items); i++ {\n\t\tif v.Items", "for i := total; false; i++ {\n\t\tif v.Items"},
		}},
		{"config: cron unnoticed", "a new cron is obeyed", []edit{
			{membership, "(s.cron == nil || *s.cron != c.Cron) {", "s.cron == nil {"},
		}},
		{"wish: never answered", "a wish ends with an answer", []edit{
			{step, "\tif f.ask != 0 {\n\t\ts.reply(f.ask, \"\", p)\n\t}\n", ""},
			{operate, "\t\ts.reply(a.ID, fault, p)\n\t}\n", "\t\t_ = fault\n\t\treturn nil\n\t}\n"},
		}},
		{"shutdown: unnoticed", "an instance whose registration an operator deletes shuts down", []edit{
			{membership, "if s.self != \"\" && !s.leaving && v.instance(s.self) == nil {", "if false {"},
		}},
	}
}
