package clustertree

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// Span is the items from First to Last. In JSON one item is its number, and several are
// [First, Last].
type Span struct{ First, Last int }

// MarshalJSON implements json.Marshaler.
func (s Span) MarshalJSON() ([]byte, error) {
	if s.First == s.Last {
		return fmt.Appendf(nil, "%d", s.First), nil
	}
	return fmt.Appendf(nil, "[%d,%d]", s.First, s.Last), nil
}

// UnmarshalJSON implements json.Unmarshaler.
func (s *Span) UnmarshalJSON(text []byte) error {
	var one *int
	if json.Unmarshal(text, &one) == nil && one != nil {
		*s = Span{*one, *one}
		return nil
	}
	var ends []int
	if json.Unmarshal(text, &ends) != nil || len(ends) != 2 {
		return errors.New("items are a number, or a pair of numbers")
	}
	*s = Span{ends[0], ends[1]}
	return nil
}

// AddItems adds items to an alert.
func (a *Alert) AddItems(items []int) {
	a.Items = joined(append(slices.Clone(a.Items), spansOf(items)...))
}

// ItemsWithout returns the items of an alert without some.
func (a *Alert) ItemsWithout(items []int) (left []Span) {
	gone := joined(spansOf(items))
	for _, s := range a.Items {
		for _, g := range gone {
			if g.Last < s.First || g.First > s.Last {
				continue
			}
			if g.First > s.First {
				left = append(left, Span{s.First, g.First - 1})
			}
			s.First = g.Last + 1
		}
		if s.First <= s.Last {
			left = append(left, s)
		}
	}
	return left
}

// Named returns up to MaxNamedItems items of an alert, ascending.
func (a *Alert) Named() (items []int) {
	for _, s := range a.Items {
		for i := s.First; i <= s.Last && len(items) < MaxNamedItems; i++ {
			items = append(items, i)
		}
	}
	return items
}

func spansOf(items []int) []Span {
	all := make([]Span, 0, len(items))
	for _, i := range items {
		all = append(all, Span{i, i})
	}
	return all
}

// joined returns spans in ascending order, with those that meet as one. It sorts all.
func joined(all []Span) (merged []Span) {
	slices.SortFunc(all, func(a, b Span) int { return cmp.Compare(a.First, b.First) })
	for _, s := range all {
		if n := len(merged); n > 0 && s.First <= merged[n-1].Last+1 {
			merged[n-1].Last = max(merged[n-1].Last, s.Last)
			continue
		}
		merged = append(merged, s)
	}
	return merged
}

// boundedItems returns spans within their bounds. If there are too many, the last one has all items
// from its first on, of which some are none of the alert: it may end later then, but not too early.
func boundedItems(items []Span) []Span {
	items = slices.DeleteFunc(slices.Clone(items), func(s Span) bool { return s.First < 0 || s.First > s.Last || s.Last > maxAlertItem })
	items = joined(items)
	if n := len(items); n > maxAlertSpans {
		items[maxAlertSpans-1].Last = items[n-1].Last
		items = items[:maxAlertSpans]
	}
	return items
}
