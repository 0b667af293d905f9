package jobtree

import (
	"cmp"
	"slices"
)

// merged returns the list to with the elements in changed replaced, added or, if nil,
// removed. Both are by key, and the list is sorted by it. merged does not change the list,
// which is published. Unlike put for each change, it copies the list once.
func merged[K cmp.Ordered, T any](to []T, changed map[K]*T, key func(*T) K) []T {
	if len(changed) == 0 {
		return to
	}
	all := make([]T, 0, len(to)+len(changed))
	for k := range to {
		if _, is := changed[key(&to[k])]; !is {
			all = append(all, to[k])
		}
	}
	for _, x := range changed {
		if x != nil {
			all = append(all, *x)
		}
	}
	slices.SortFunc(all, func(a, b T) int { return cmp.Compare(key(&a), key(&b)) })
	return append([]T(nil), all...) // no spare capacity, since an idle job keeps the list
}
