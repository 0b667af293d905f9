package trace

// Recent is how the newest runs of a job ended, as far as rows tell.
type Recent struct {
	State    State // of the newest run that has ended; "" if no row is of one
	At       int64 // when it ended; its instant where that is not known
	Failures int   // runs of one item that failed, one after the other, with the newest
	Item     int   // which item that is; of several with as many, the first
}

// RecentOf sums up rows of one job, of which the newest come first. Instants that
// were missed, and what was skipped or cancelled, are no failures: somebody may have
// wanted it so, and they end no streak either.
func RecentOf(rows []Row) Recent {
	var sum Recent
	failures, over := map[int]int{}, map[int]bool{}
	for i := range rows {
		r := &rows[i]
		if r.Count > 0 || !r.State.Final() {
			continue
		}
		if sum.State == "" {
			sum.State, sum.At = r.State, r.End
			if sum.At == 0 {
				sum.At = r.Instant
			}
		}
		switch r.State { //nolint:exhaustive // the others say nothing of the code
		case Succeeded:
			over[r.Item] = true
		case Failed, TimedOut, Interrupted, Lost:
			if !over[r.Item] {
				failures[r.Item]++
			}
		}
	}
	for item, n := range failures {
		if n > sum.Failures || n == sum.Failures && item < sum.Item {
			sum.Failures, sum.Item = n, item
		}
	}
	return sum
}
