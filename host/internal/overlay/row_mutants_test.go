package overlay

// rowMutants leave out conditions on which rows a member reports, and when.
func rowMutants() []mutant {
	by := func(name string) notice {
		return notice{"../runner", "^TestRowsOfOthersAreReportedOnce$/^" + name + "$"}
	}
	return []mutant{
		{"rows: reported again", "a row that another server has reported long ago is not reported again", in("runner.member.unreported", "r.By != m.self && r.Ended != 0 && r.Ended < old", "false"), by("long_after_it_reported_them")},
		{"rows: not reported", "a row that another server may not have come to report is reported", in("runner.member.unreported", "r.Ended < old", "true"), by("as_it_reports_them")},
	}
}
