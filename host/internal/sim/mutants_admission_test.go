package sim

// admissionMutants leave out rules about which server may be in a job.
func admissionMutants() []mutant {
	class := func(old, by string) []change { return []change{in("admission.Verdict.decideClass", old, by)} }
	return []mutant{
		{"admission: with foreign members", "beside foreign members, a server whose class differs leaves", class("case f.Foreign, _:", "case !stays && !f.Job.Overwrite:")},
		{"admission: members leave", "members stay, whatever the class, while there is no foreign member", class("!stays", "true")},
		{"admission: comes back", "a member that had to leave comes back only when the reason is gone", class("!f.Barred", "true")},
	}
}
