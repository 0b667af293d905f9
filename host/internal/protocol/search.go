package protocol

// search is the first place of a sorted list of n that is as far as what is
// looked for. What is asked for in every step is looked up by it: a comparison
// that is handed the elements would copy them.
func search(n int, reached func(k int) bool) int {
	from, to := 0, n
	for from < to {
		if k := (from + to) / 2; reached(k) {
			to = k
		} else {
			from = k + 1
		}
	}
	return from
}
