package protocol

import "slices"

// This file estimates the size of our values in a transaction. The estimate is never below
// what the layout writes, and counts nothing for items that share an entry or a range with
// their neighbour. Tests of layout compare it with real values.

const (
	// MaxRanges is the largest number of ranges in which a list of numbers by item is
	// written; longer lists have the numbers of all items one after another.
	MaxRanges = 2_000
	// MaxMoments is the largest number of different times in such a list.
	MaxMoments = 127

	recordBytes    = 400 // of an empty record
	entryBytes     = 64  // of an entry, without its items, numbers and texts
	rowBytes       = 74  // of a row, in addition to its entry
	uncountedBytes = 14  // of Uncounted, which most entries do not have
	paramBytes     = 11  // of Param, likewise
	firstBytes     = 9   // of First, likewise
	streakBytes    = 40  // item, failures, instant
	tallyBytes     = 40  // instant, how many items ended well, of how many
	waitBytes      = 40  // of a run that waits, in addition to its entry
	pairBytes      = 12  // from, to
	spanBytes      = 40  // from, to, as instants
	rangeBytes     = 36  // from, to, number
	numberBytes    = 21
	escapeBytes    = 6
)

// weight is the size of a record that a transaction is about to write. Removals do not make
// it smaller.
type weight struct {
	open                          []Entry // before anything was added
	rest                          int     // size apart from the lists
	newest                        *Entry  // the run that was opened last
	largest                       int     // size of the largest open entry
	tail                          *Row
	gone                          int // the item that was last taken out of a range
	streaks                       int // or fewer
	last, requested, begun, ended list
	resumed                       list
}

// Bytes is an upper bound of the size of the record's value.
func (d *RunsData) Bytes() int {
	w := d.weight()
	return w.bytes()
}

// weight is the size of the record as it is. Neighbours that differ only in the item share an
// entry, so they count only if a range ends between them.
func (d *RunsData) weight() weight {
	w := weight{open: d.Open, gone: -2, rest: recordBytes + spanBytes*len(d.Spans) + tallyBytes*len(d.Tallies), streaks: len(d.Streaks), last: listOf(d.Last), requested: listOf(d.Requested), begun: listOf(d.Begun), ended: listOf(d.Ended)}
	w.resumed = listOf(d.Resumed)
	if d.Unattended != 0 {
		w.rest += spanBytes
	}
	w.begun.rounded, w.ended.rounded = true, true
	for k := range d.Open {
		e := &d.Open[k]
		w.largest = max(w.largest, e.bytes())
		if k > 0 && d.Open[k-1].before(e) {
			w.rest += pair(d.Open[k-1].Item, e.Item)
		} else {
			w.rest += e.bytes()
		}
	}
	for k := range d.Retries {
		r := &d.Retries[k]
		if k > 0 && d.Retries[k-1].before(&r.Entry) && d.Retries[k-1].After == r.After {
			w.rest += pair(d.Retries[k-1].Item, r.Item)
		} else {
			w.rest += r.bytes() + waitBytes
		}
	}
	w.rest += triggersBytes(d.Triggers) + schedulesBytes(d.Schedules)
	for k := range d.Rows {
		w.row(&d.Rows[k])
	}
	return w
}

// triggersBytes is an upper bound of the size of triggers, whose items are written as ranges.
func triggersBytes(all []Trigger) int {
	n := 0
	for k := range all {
		n += entryBytes + numberBytes + textBytes(all[k].ID)
		for j, i := range all[k].Items {
			if j == 0 || all[k].Items[j-1]+1 != i {
				n += pairBytes + 2
			}
		}
	}
	return n
}

// schedulesBytes is an upper bound of the size of the schedules that a record keeps.
func schedulesBytes(all []Schedule) int {
	n := 0
	for k := range all {
		n += pairBytes + 2*numberBytes + textBytes(all[k].Cron)
	}
	return n
}

// Bytes is an upper bound of the size of the assignment's value.
func (a *Assignment) Bytes() int {
	owners := list{items: len(a.Owners), numbers: len(a.Members)}
	for i, o := range a.Owners {
		if o != "" && (i == 0 || a.Owners[i-1] != o) {
			owners.ranges++
		}
	}
	n := recordBytes + spanBytes*len(a.Spans) + streakBytes*len(a.Streaks) + tallyBytes*len(a.Tallies) + owners.bytes() + pairBytes*len(a.Departing) + schedulesBytes(a.Schedules)
	for _, id := range a.Members {
		n += textBytes(string(id)) + 3
	}
	last, requested, begun, ended := listOf(a.Last), listOf(a.Requested), listOf(a.Begun), listOf(a.Ended)
	begun.rounded, ended.rounded = true, true
	resumed := listOf(a.Resumed)
	if a.Unattended != 0 {
		n += spanBytes
	}
	return n + resumed.bytes() + last.bytes() + requested.bytes() + begun.bytes() + ended.bytes()
}

// bytes is an upper bound of the size of the node's value.
func (p *Pending) bytes() int {
	return 2*waitBytes + p.Entry.bytes() + textBytes(string(p.Dead))
}

// bytes is the size of the record.
func (w *weight) bytes() int {
	return w.rest + streakBytes*w.streaks + w.last.bytes() + w.requested.bytes() + w.begun.bytes() + w.ended.bytes() + w.resumed.bytes()
}

// add adds the size of one more open run. The run may share an entry with the one that was
// added last, and may split an entry that the item's neighbours in the record shared.
func (w *weight) add(e *Entry) {
	k, _ := slices.BinarySearchFunc(w.open, e.Item, func(o Entry, i int) int { return o.Item - i })
	p := w.newest
	switch {
	case p == nil || p.Item < e.Item:
		between := p != nil && k > 0 && w.open[k-1].Item > p.Item // an open run of the record separates them
		if p != nil && p.before(e) && !between {
			w.rest += pair(p.Item, e.Item)
			break
		}
		w.rest += e.bytes()
		if k > 0 && k < len(w.open) && w.open[k-1].before(&w.open[k]) { // it splits their entry
			w.rest += w.open[k].bytes()
		}
	default: // out of order: it may separate any two
		w.rest += e.bytes() + w.largest
	}
	w.largest = max(w.largest, e.bytes())
	if p == nil || p.Item < e.Item {
		w.newest = e
	}
}

// row adds the size of one more row. A row that differs from the one before (tail) in the item
// alone shares its entry, so it adds a range at most. Without a number it gets the next one.
func (w *weight) row(r *Row) {
	t := w.tail
	w.tail = r
	if t != nil && t.before(&r.Entry) && (r.Seq == 0 || t.Seq+1 == r.Seq) && t.State == r.State && t.Why == r.Why && t.Cron == r.Cron && t.Ended == r.Ended && t.By == r.By &&
		t.Gap == r.Gap && (!r.Gap || t.After == r.After && t.Until == r.Until) {
		w.rest += pair(t.Item, r.Item)
		return
	}
	w.rest += r.bytes() + rowBytes + numberBytes + digits(r.Ended) + len(r.State) + textBytes(r.Why.String()) + textBytes(r.Why.Key()) + textBytes(string(r.By))
	if r.Gap {
		w.rest += 2*numberBytes + textBytes(r.Cron)
	}
}

// out counts that a run of the item goes from a list (of retries, triggers or open runs),
// where that may split a range; not if the item right before went as well.
func (w *weight) out(i int) {
	w.rest += pair(w.gone, i)
	w.gone = i
}

// begins returns the weight with one more run, and with the rows that it brings.
func (w weight) begins(e Entry, rows []Row) weight {
	for k := range rows {
		w.row(&rows[k])
		if rows[k].State == Interrupted {
			w.streak()
		}
	}
	if e.Trigger == "" {
		w.last.set(e.Item, e.Instant)
	}
	w.begun.set(e.Item, e.Begun)
	w.add(&e)
	w.out(e.Item)
	return w
}

// ends returns the weight with one run fewer, and with the row that it leaves.
func (w weight) ends(r Row) weight {
	w.row(&r)
	if r.State == Interrupted || r.State == Lost {
		w.streak()
	}
	w.ended.set(r.Item, r.Ended)
	w.out(r.Item)
	return w
}

// before reports whether o describes the same run of a later item.
func (e *Entry) before(o *Entry) bool {
	return e.Item < o.Item && e.Instant == o.Instant && e.Trigger == o.Trigger && e.Cause == o.Cause && e.Attempt == o.Attempt && e.Uncounted == o.Uncounted && e.Begun == o.Begun && e.Param == o.Param && e.First == o.First
}

// pair is the size of one more range in a list of items, which begins at next; 0 if that
// follows i, so that the range only gets longer.
func pair(i, next int) int {
	if i+1 == next {
		return 0
	}
	return pairBytes
}

// bytes is an upper bound of the size of the entry, with a single item.
func (e *Entry) bytes() int {
	return entryBytes + digits(e.Instant) + digits(e.Begun) + digits(int64(e.Attempt)) + e.seldomBytes() + textBytes(e.Trigger) + len(e.Cause)
}

// seldomBytes is the size of the fields that most entries do not have.
func (e *Entry) seldomBytes() int {
	n := 0
	if e.Uncounted != 0 {
		n += uncountedBytes + digits(int64(e.Uncounted))
	}
	if e.Param != "" {
		n += paramBytes + textBytes(e.Param)
	}
	if e.First != 0 {
		n += firstBytes + digits(e.First)
	}
	return n
}

// digits is the length of a number in decimal, with its sign.
func digits(n int64) int {
	d := 1
	if n < 0 {
		d++
	}
	for n /= 10; n != 0; n /= 10 {
		d++
	}
	return d
}

// textBytes is the size of a text as JSON, without its quotes.
func textBytes(s string) int {
	n := 0
	for _, r := range s {
		switch r {
		case '"', '\\', '<', '>', '&', '\u2028', '\u2029', '\uFFFD':
			n += escapeBytes
		default:
			if r < ' ' {
				n += escapeBytes
			} else {
				n += len(string(r))
			}
		}
	}
	return n
}

// list is the size of a list of numbers by item.
type list struct {
	items   int
	ranges  int // or fewer
	numbers int // different ones, or fewer
	rounded bool
	item    int // the item that was set last, to newest
	newest  int64
}

// listOf measures a list of numbers by item: its ranges of equal numbers and, if it has too
// many to be written as ranges, its different numbers.
func listOf(s []int64) list {
	l := list{items: len(s), item: -1}
	for i, t := range s {
		if t != 0 && (i == 0 || s[i-1] != t) {
			l.ranges++
		}
	}
	if l.numbers = l.ranges; l.ranges > MaxRanges {
		known := map[int64]bool{}
		for _, t := range s {
			known[t] = true
		}
		l.numbers = len(known)
	}
	return l
}

// set gives an item a number. It extends the range of the item that was set right before,
// or adds a range and splits another.
func (l *list) set(i int, t int64) {
	if l.item < 0 || l.item+1 != i || l.newest != t {
		l.ranges += 2
	}
	if l.item < 0 || l.newest != t {
		l.numbers++
	}
	l.items, l.item, l.newest = max(l.items, i+1), i, t
}

// bytes is an upper bound of the size of the list: with few ranges, of these; otherwise of
// its different numbers and, in base64, an index into them for each item.
func (l *list) bytes() int {
	if l.ranges <= MaxRanges {
		return l.ranges * rangeBytes
	}
	numbers := l.numbers
	if l.rounded {
		numbers = min(numbers, MaxMoments)
	}
	index := 1 // bytes of an item's index into the numbers
	for n := numbers >> 7; n > 0; n >>= 7 {
		index++
	}
	return max(MaxRanges*rangeBytes, numbers*numberBytes+(l.items*index+2)/3*4)
}
