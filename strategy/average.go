package strategy

import "context"

// Average assigns every instance a block of equal size, in the order of the
// instances, and the remaining items one each to the first instances. Of eight
// items three instances get 0 1 6, 2 3 7 and 4 5.
func Average(_ context.Context, r Request) ([][]int, error) {
	return assign(r, averageOrder(r))
}

// averageOrder returns the indexes of the instances as they come.
func averageOrder(r Request) []int {
	order := make([]int, len(r.Instances))
	for i := range order {
		order[i] = i
	}
	return order
}
