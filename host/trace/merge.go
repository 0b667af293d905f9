package trace

import "iter"

// Merge merges the histories of several servers, each in the order that CheckInput requires,
// into one. It yields a row that several histories have once. Such rows exist if a server died
// before it could report that it had stored the row. They differ if the server only lost the
// registry: then the other server knows what became of the run, and the first one how its guest
// ended. The first error ends the sequence.
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
			for _, h := range all {
				for h != first && err == nil && h.more && h.err == nil && compareRows(h.row, row) == 0 {
					if Detail(&h.row) > Detail(&first.row) {
						first.row = h.row
					}
					h.advance()
				}
			}
			if !yield(first.row, err) || err != nil {
				return
			}
			first.advance()
		}
	}
}

// Detail ranks rows of the same attempt by what they contain: first the end of the run, then
// facts that only the server that ran it knows.
func Detail(r *Row) int {
	n := 0
	if r.State.Final() {
		n += 4
	}
	if r.TaskID != "" {
		n += 2
	}
	if r.End != 0 {
		n++
	}
	return n
}

// head is a history with its next row.
type head struct {
	next func() (Row, error, bool)
	row  Row
	err  error
	more bool
}

// newHead reads the first row of a history.
func newHead(next func() (Row, error, bool)) *head {
	h := &head{next: next}
	h.advance()
	return h
}

// advance reads the next row of the history.
func (h *head) advance() { h.row, h.err, h.more = h.next() }

// least returns the history whose row comes first, or a history that cannot be read; nil when
// all are at their end.
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

// compareRows orders rows as all histories do.
func compareRows(a, b Row) int { return PlaceOf(&a).Compare(PlaceOf(&b)) }
