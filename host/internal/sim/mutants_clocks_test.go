package sim

// clockMutants trust a wrong clock.
func clockMutants() []mutant {
	return []mutant{
		{"clocks: ahead", "no instant begins that is far ahead of the registry's clock", []change{in("protocol.State.future", "t > s.registryTime()+s.tolerance()", "false")}},
		{"clocks: dates ahead", "a leader dates new items by the registry's clock", []change{
			in("protocol.State.dateOf", "s.clock.skew > s.tolerance()", "false"),
			in("protocol.State.dateOf", "s.future(t)", "false"),
		}},
		{"clocks: set right", "when a clock that was ahead is set right, the schedule is asked anew", []change{in("protocol.State.goByClocks", "!waited || s.clock.skew > s.tolerance()", "true")}},
		{"clocks: set back", "when a clock is set back, the schedule is asked anew", []change{in("protocol.State.goByClocks", "s.schedule.latest.At > s.now+clocksAgree", "false")}},
		{"clocks: not resumed", "what nobody began while the registry's clock was ahead begins", []change{in("protocol.State.passed", "s.distant(last)", "false")}},
		{"clocks: anything resumed", "what began while the registry's clock was ahead does not begin again", []change{in("protocol.State.passed", "s.view.idle(t)", "true")}},
		{"clocks: resumed twice", "it begins once", []change{in("protocol.State.passed", "t > s.view.resumed(i)", "true")}},
		{"clocks: resumed is not kept", "the next owner of an item also begins it once", []change{in("protocol.Assignment.fold", "newest(a.Resumed, d.Resumed, a.Resumed)", "a.Resumed")}},
		{"clocks: idle is not kept", "the next owner of an item knows the time in which nothing began", []change{in("protocol.Assignment.fold", "a.idle(span)", "_ = span")}},
	}
}
