package trace

import (
	"cmp"
	"slices"
	"strconv"
)

// open begins the accounts of the items at a time, if Start is known.
func (c *checker) open(from int64) {
	c.items = map[int]*account{}
	if c.in.Start == nil || c.instants == nil {
		return
	}
	for _, item := range c.in.Items {
		start := max(from, c.in.Start(item))
		c.items[item] = &account{item: item, begun: true, base: start}
		c.bounds.push(bound{at: start, item: item})
	}
}

// follow switches to the schedule of the row if it differs. What the earlier schedule has left to
// check is checked first; runs that may still be going on are held on. Only a row of a scheduled
// instant shows the schedule.
func (c *checker) follow(row Row) {
	name := cmp.Or(row.Schedule, c.in.Schedule)
	scheduled := row.Count != 0 || row.Run == strconv.FormatInt(row.Instant, 10)
	if !scheduled || name == c.schedule {
		return
	}
	from := row.Instant - 1
	if !c.ticks.begun {
		from = c.in.From // no scheduled row came before
	}
	before := c.items
	c.settleAll()
	c.report.Instants += c.ticks.n
	c.ticks, c.schedule, c.instants = ticks{}, name, c.in.Instants
	if name != c.in.Schedule {
		c.instants = nil
		if c.in.Of != nil {
			c.instants = c.in.Of(name)
		}
	}
	c.open(from)
	for item, st := range before {
		if st.held != nil && c.instants != nil { // a later run of the item decides
			c.account(item).held = st.held
		}
	}
}

// finish checks what is left after the last row. If Open is known, it reports the instants up to
// it that have no row, and the runs that are not going on any more.
func (c *checker) finish() {
	c.closeRun()
	if c.in.Open != nil && c.instants != nil {
		type end struct {
			at int64
			st *account
		}
		var ends []end
		for _, item := range c.in.Items {
			if st := c.items[item]; st != nil {
				ends = append(ends, end{min(c.in.To, c.in.Open(item)), st})
			}
		}
		slices.SortStableFunc(ends, func(a, b end) int { return cmp.Compare(a.at, b.at) })
		for _, e := range ends {
			if e.st.held != nil && e.st.held.First <= e.at {
				c.release(e.st)
			}
			if e.st.base < e.at {
				c.advance(e.at)
				c.missing(e.st, c.ticks.last, c.ticks.n-e.st.baseN, true)
			}
		}
	}
	c.settleAll()
}

// settleAll settles all remaining bounds.
func (c *checker) settleAll() {
	for len(c.bounds) > 0 {
		c.advance(c.bounds[0].at)
	}
}

// advance goes through the instants up to and including to, and settles every bound on the way.
func (c *checker) advance(to int64) {
	if !c.ticks.begun {
		from := to - 1 // so that the first row's own instant counts
		if len(c.bounds) > 0 {
			from = min(from, c.bounds[0].at)
		}
		c.ticks = ticks{begun: true, at: from}
	}
	for len(c.bounds) > 0 && c.bounds[0].at <= to {
		c.ticks.advance(c.instants, c.bounds[0].at)
		c.settle(c.bounds.pop())
	}
	c.ticks.advance(c.instants, to)
}

// settle checks what the pass can decide once it has reached the bound.
func (c *checker) settle(b bound) {
	if st := c.items[b.item]; st.base == b.at {
		st.baseN = c.ticks.n
	}
	if !b.gap {
		return
	}
	if c.ticks.n == 0 || c.ticks.last != b.at {
		c.found(b.finding, Unscheduled, "%s ends at no instant of the schedule (was the schedule changed?)", b.finding.Run)
	}
	if n := c.ticks.n - b.since; n != b.count {
		b.finding.Count = n
		c.found(b.finding, WrongCount, "%s counts %d instants, the schedule has %d", b.finding.Run, b.count, n)
	}
}

// ticks goes through the scheduled instants once.
type ticks struct {
	begun      bool
	at         int64 // position: all instants up to and including it were read
	n          int64 // number of instants so far
	last, prev int64 // the last two instants
}

// advance counts the instants up to and including to.
func (t *ticks) advance(instants Instants, to int64) {
	if to <= t.at {
		return
	}
	instants(t.at, to, func(x int64) bool {
		if x > t.at && x <= to {
			t.prev, t.last, t.at = t.last, x, x
			t.n++
		}
		return true
	})
	t.at = to
}

// bound is a time at which the pass has something to settle: the start of an item's account, or
// the end of a gap.
type bound struct {
	at      int64
	item    int
	gap     bool
	since   int64 // number of instants before the gap
	count   int64 // count in the gap's row
	finding Finding
}

// bounds are the bounds ahead of the pass, nearest first.
type bounds []bound

// push adds a bound, after others of the same time.
func (b *bounds) push(x bound) {
	at, _ := slices.BinarySearchFunc(*b, x.at+1, func(b bound, at int64) int { return cmp.Compare(b.at, at) })
	*b = slices.Insert(*b, at, x)
}

func (b *bounds) pop() bound {
	first := (*b)[0]
	*b = (*b)[1:]
	return first
}
