package overlay

// rareMutants leave out rules of the core that a random cluster needs once in
// thousands: a script notices.
func rareMutants() []mutant {
	script := func(name string) notice { return notice{"../protocol", "^TestScripts$/^" + name + "$"} }
	return []mutant{
		{"evidence: a second run", "what a member of ElasticJob runs for the second time since an instant is no run of that instant", in("protocol.State.marked", "at(s.witness.ran, i)", "0"), script("accounted_java_twice")},
		{"clocks: dropped", "what came behind an instant that waited is asked for when the clocks agree", in("protocol.State.goByClocks", "s.early.At != 0 || s.clocks.dropped", "s.early.At != 0"), script("clock_right_late")},
	}
}
