package sim

// admissionMutants remove rules of who may be in a job.
func admissionMutants() []mutant {
	class := func(old, by string) []change { return []change{in("admission.Verdict.decideClass", old, by)} }
	return []mutant{
		{"admission: beside Java", "beside members of ElasticJob who stands in for another class leaves", class("case f.Foreign, _:", "case !stays && !f.Job.Overwrite:")},
		{"admission: members leave", "members stay whatever the class, where no member of ElasticJob is", class("!stays", "true")},
		{"admission: comes back", "who had to leave comes back only when that is mended", class("!f.Barred", "true")},
	}
}
