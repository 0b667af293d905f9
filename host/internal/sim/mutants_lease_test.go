package sim

// leaseMutants count a session from a moment that the service may not know.
func leaseMutants() []mutant {
	return []mutant{
		{"lease: reads", "a read does not prove that the session lives", []change{
			in("sim.member.fetch", "life := m.life", "life, sent := m.life, m.w.now"),
			in("sim.member.fetch", "m.loop.Reply(r, n)", "m.acknowledged(sent)\nm.loop.Reply(r, n)"),
		}},
		{"lease: no majority", "a sign of life needs a majority", []change{in("sim.session.carryOut", "s.decide(func() { s.client(message{beat: beat}) })", "s.client(message{beat: beat})")}},
		{"lease: from the answer", "a transaction counts from when it was sent", []change{in("sim.member.acknowledged", "m.acked = max(m.acked, sent)", "m.acked = m.w.now")}},
		{"lease: from when it is there", "a session counts from when it was asked for", []change{in("sim.member.open", "m.acked = asked", "m.acked = w.now")}},
	}
}
