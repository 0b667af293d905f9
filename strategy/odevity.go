package strategy

import (
	"context"
	"slices"
)

// Odevity is Average over the reversed instances if the hash of the job's name
// is even, and Average if it is odd. With fewer items than instances, half of
// the jobs begin at one end of the list and half at the other.
func Odevity(_ context.Context, r Request) ([][]int, error) {
	return assign(r, odevityOrder(r))
}

// odevityOrder returns the indexes of the instances in the order in which Odevity
// goes through them.
func odevityOrder(r Request) []int {
	order := averageOrder(r)
	if JavaHash(r.Job)%2 == 0 {
		slices.Reverse(order)
	}
	return order
}
