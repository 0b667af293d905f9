package strategy

import (
	"fmt"
	"strings"
)

// Check reports whether result gives every item of r to exactly one of its
// instances. The error names the items that are missing, given twice or out
// of range; however wrong the result is, the text stays short.
func Check(r Request, result [][]int) error {
	if r.Total < 0 || r.Total > MaxTotal {
		return fmt.Errorf("check assignment of job %q: total %d is not in 0..%d", r.Job, r.Total, MaxTotal)
	}
	if len(result) != len(r.Instances) {
		return fmt.Errorf("check assignment of job %q: result is for %d instances, not %d", r.Job, len(result), len(r.Instances))
	}
	given := make([]int, r.Total) // how often each item was given
	missing := items{what: "nobody has"}
	doubled := items{what: "given more than once:"}
	outside := items{what: fmt.Sprintf("not one of the %d items:", r.Total)}
	for _, block := range result {
		for _, item := range block {
			if item < 0 || item >= r.Total {
				outside.add(item)
				continue
			}
			given[item]++
		}
	}
	for item, n := range given {
		switch {
		case n == 0:
			missing.add(item)
		case n > 1:
			doubled.add(item)
		}
	}
	var faults []string
	for _, s := range []items{missing, doubled, outside} {
		if s.count > 0 {
			faults = append(faults, s.String())
		}
	}
	if len(faults) > 0 {
		return fmt.Errorf("check assignment of job %q: %s", r.Job, strings.Join(faults, "; "))
	}
	return nil
}

// items collects items as ranges, but only as many ranges as fit into a
// message.
type items struct {
	what   string
	ranges []span
	count  int
}

type span struct{ from, to int }

// add counts an item. An item right after the last range extends it; beyond the
// most ranges, an item is only counted.
func (s *items) add(item int) {
	const most = 8
	s.count++
	if n := len(s.ranges); n > 0 && item > s.ranges[n-1].to && item-1 == s.ranges[n-1].to {
		s.ranges[n-1].to = item
	} else if n < most {
		s.ranges = append(s.ranges, span{item, item})
	}
}

// String lists the ranges, and how many items are in none.
func (s items) String() string {
	var b strings.Builder
	b.WriteString(s.what)
	hidden := s.count
	for i, r := range s.ranges {
		if i > 0 {
			b.WriteByte(',')
		}
		if r.from == r.to {
			fmt.Fprintf(&b, " %d", r.from)
		} else {
			fmt.Fprintf(&b, " %d-%d", r.from, r.to)
		}
		hidden -= r.to - r.from + 1
	}
	if hidden > 0 {
		fmt.Fprintf(&b, " and %d more", hidden)
	}
	return b.String()
}
