package trace

import (
	"cmp"
	"iter"
)

// Merge makes one history of those of several servers, each in the order that
// CheckInput wants. A row that more than one of them has, as when a server died
// before it could say that it had stored it, comes once. The first error ends it.
func Merge(histories ...iter.Seq2[Row, error]) iter.Seq2[Row, error] {
	if len(histories) == 1 {
		return histories[0]
	}
	return func(yield func(Row, error) bool) {
		var all []*head
		for _, h := range histories {
			next, stop := iter.Pull2(h)
			defer stop()
			all = append(all, newHead(next))
		}
		for {
			first := least(all)
			if first == nil {
				return
			}
			row, err := first.row, first.err
			if !yield(row, err) || err != nil {
				return
			}
			for _, h := range all {
				for h.more && compareRows(h.row, row) == 0 {
					h.advance()
				}
			}
		}
	}
}

// head is the next row of a history.
type head struct {
	next func() (Row, error, bool)
	row  Row
	err  error
	more bool
}

func newHead(next func() (Row, error, bool)) *head {
	h := &head{next: next}
	h.advance()
	return h
}

func (h *head) advance() { h.row, h.err, h.more = h.next() }

// least is the history whose row comes first, or one that cannot be read; nil at
// the end of all.
func least(all []*head) *head {
	var first *head
	for _, h := range all {
		switch {
		case !h.more:
		case h.err != nil:
			return h
		case first == nil || compareRows(h.row, first.row) < 0:
			first = h
		}
	}
	return first
}

func compareRows(a, b Row) int {
	return cmp.Or(cmp.Compare(a.Instant, b.Instant), cmp.Compare(a.Item, b.Item), cmp.Compare(a.Run, b.Run), cmp.Compare(a.Attempt, b.Attempt))
}
