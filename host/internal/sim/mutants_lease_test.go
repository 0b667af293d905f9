package sim

// leaseMutants count from a moment that the service may know nothing of.
func leaseMutants() []mutant {
	return []mutant{
		{"lease: from the answer", "a transaction counts from when it was sent", []change{in("sim.member.vouched", "m.acked = max(m.acked, sent)", "m.acked = m.w.now")}},
		{"lease: from when it is there", "a session counts from when it was asked for", []change{in("sim.member.open", "m.acked = asked", "m.acked = w.now")}},
	}
}
