package protocol

// search returns the first of n places in a sorted list at which reached is true. Unlike
// slices.BinarySearchFunc it does not copy elements, since lookups happen in every step.
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
