package strategy

import (
	"context"
	"math"
)

// Rotate is Average over the instances rotated to the left by the hash of the
// job's name, so that different jobs begin at different instances. It refuses
// an empty list of instances.
func Rotate(_ context.Context, r Request) ([][]int, error) {
	if len(r.Instances) == 0 {
		return nil, errNoInstances
	}
	return assign(r, rotateOrder(r))
}

// rotateOrder returns the indexes of the instances in the order in which Rotate
// goes through them.
func rotateOrder(r Request) []int {
	order := averageOrder(r)
	offset := rotation(JavaHash(r.Job), len(order))
	return append(order[offset:len(order):len(order)], order[:offset]...)
}

// rotation returns the absolute value of the hash modulo n. The smallest hash has
// no absolute value in 32 bits: Java fails there, or rotates by 0 if n is a power
// of two. A job that can never be sharded is of no use, so the result is 0 here for
// every n.
func rotation(hash int32, n int) int {
	if hash == math.MinInt32 {
		return 0
	}
	if hash < 0 {
		hash = -hash
	}
	return int(hash) % n
}
