package sim

// leaseMutants count from a moment that the service may know nothing of.
func leaseMutants() []mutant {
	return []mutant{
		{"lease: reads", "a read vouches for nothing", []change{
			in("sim.member.pump", "life, s := m.life, m.s", "life, s, sent := m.life, m.s, m.w.now"),
			in("sim.member.pump", "m.mir.Reply(r, n)", "m.vouched(sent)\nm.mir.Reply(r, n)"),
		}},
		{"lease: no majority", "a sign of life needs a majority", []change{in("sim.member.heartbeat", "m.s.decide(func() { m.s.client(message{reply: func() { m.vouched(at) }}) })", "m.s.inOrder(func() { m.s.client(message{reply: func() { m.vouched(at) }}) })")}},
		{"lease: from the answer", "a transaction counts from when it was sent", []change{in("sim.member.vouched", "m.acked = max(m.acked, sent)", "m.acked = m.w.now")}},
		{"lease: from when it is there", "a session counts from when it was asked for", []change{in("sim.member.open", "m.acked = asked", "m.acked = w.now")}},
	}
}
