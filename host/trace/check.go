package trace

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"strconv"
)

// DefaultFindings bounds a Report when CheckInput.Limit is 0.
const DefaultFindings = 1000

// CheckInput says which instants must be accounted for, and has the rows.
type CheckInput struct {
	Job string
	// Items are the present items of the job. Rows of other items are checked too, but only
	// between the first and the last row of the item.
	Items []int
	// Instants yields the scheduled instants t with after < t <= upTo in ascending order until
	// yield returns false.
	Instants Instants
	// Schedule is the name under which rows refer to the schedule of Instants. Rows without a
	// schedule's name are checked against it as well.
	Schedule string
	// Elsewhere says that the instants are those of other jobs, after which this job runs. Only
	// the attempts of its runs are checked.
	Elsewhere bool
	// Of returns the instants of an earlier schedule of the job. If it is nil, or returns nil,
	// rows under other schedules are not checked.
	Of func(schedule string) Instants
	// From and To are the window (From, To] in Unix milliseconds.
	From, To int64
	// Rows yields the job's rows that touch the window, ordered by instant, then item, then
	// run, then attempt. Gaps that begin before the window and reach into it are among them.
	Rows iter.Seq2[Row, error]

	// Start returns the instant after which an item must be accounted for, if that is later
	// than From. If Start is nil, an item is checked from its first row on, because it may be
	// younger than the window.
	Start func(item int) int64
	// Open returns the instant up to which an item must be accounted for; nil: up to its last
	// row.
	//
	// Without it, the last run of an item may still be going on if only rows without a run
	// follow; such a run is not reported.
	Open func(item int) int64
	// Limit bounds the findings that are kept; 0 is DefaultFindings.
	Limit int
}

// Instants yields the instants t of a schedule with after < t <= upTo in ascending order until
// yield returns false.
type Instants func(after, upTo int64, yield func(int64) bool)

// Report is the result of Check.
type Report struct {
	Findings []Finding // by item, then by instant
	More     int64     // findings beyond the limit
	Rows     int64     // rows read
	Instants int64     // scheduled instants that were compared
}

// Check compares the rows of a job with its schedule, and returns a Finding for each mistake in
// the rows. Each scheduled instant of each item must be in exactly one final row or in exactly
// one gap row. Each run must have a row for each of its attempts. The count in a gap row must be
// the number of instants in the gap. A run by trigger has no scheduled instant, so only its
// attempts are checked. The error comes from Rows, or says that rows are out of order.
//
// If the schedule was changed, each row is checked against the schedule that it names. The time
// of the change is unknown, so no instant is reported as missing between the last row of one
// schedule and the first row of the next.
//
// Check reads the rows once. Its memory grows with the number of items, not of rows.
func Check(in CheckInput) (Report, error) {
	if in.Limit <= 0 {
		in.Limit = DefaultFindings
	}
	c := &checker{in: in, instants: in.Instants, schedule: in.Schedule}
	c.open(in.From)
	if in.Rows != nil {
		for row, err := range in.Rows {
			if err != nil {
				return c.report, err
			}
			if row.Instant > in.To {
				break
			}
			if err := c.add(row); err != nil {
				return c.report, err
			}
		}
	}
	c.finish()
	slices.SortStableFunc(c.report.Findings, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.Item, b.Item), cmp.Compare(a.First, b.First))
	})
	c.report.Instants += c.ticks.n
	return c.report, nil
}

// account is the state of one item at the position of the pass.
type account struct {
	item  int
	begun bool
	// Every instant up to base is accounted for or outside the window. baseN is their number
	// since the pass began; it is known once the pass has reached base.
	base, baseN int64
	// covered is the last instant that a row accounts for, and by the run of that row.
	covered    int64
	by         string
	hasCovered bool
	// held is a finding that would be wrong if its run were still going on.
	held *Finding
}

// group has the attempts of one run that were read so far.
type group struct {
	first, last Row
	rows        int
	finals      int
	repeated    bool
	holes       bool
}

type checker struct {
	in       CheckInput
	schedule string   // the job's schedule at the position of the pass
	instants Instants // of that schedule; nil: not known
	items    map[int]*account
	ticks    ticks
	bounds   bounds
	group    group
	prev     Row
	hasPrev  bool
	report   Report
}

// add checks the next row. Successive rows of one run are its attempts, which group collects:
// they are checked when the row of another run or a gap comes.
func (c *checker) add(row Row) error {
	if row.Job != c.in.Job {
		return fmt.Errorf("check %s: row of job %s among the rows", c.in.Job, row.Job)
	}
	if c.hasPrev && cmp.Or(cmp.Compare(c.prev.Instant, row.Instant), cmp.Compare(c.prev.Item, row.Item)) > 0 {
		return fmt.Errorf("check %s: rows are not in order: run %s of item %d after run %s of item %d",
			row.Job, row.Run, row.Item, c.prev.Run, c.prev.Item)
	}
	c.prev, c.hasPrev = row, true
	c.report.Rows++
	if max(row.Instant, lastOf(row)) <= c.in.From { // it ends before the window
		return nil
	}
	if c.group.rows > 0 && row.Count == 0 && row.Item == c.group.first.Item &&
		row.Instant == c.group.first.Instant && row.Run == c.group.first.Run {
		c.group.join(row)
		return nil
	}
	c.closeRun()
	c.follow(row)
	if c.instants == nil {
		return nil
	}
	if row.Count != 0 {
		c.gap(row)
		return nil
	}
	// The attempts before a retry may be in another server's history and, for a trigger, have
	// another instant.
	c.group = group{first: row, holes: row.Attempt != 1 && row.Cause != Retry && !unrun(row)}
	c.group.count(row)
	return nil
}

// unrun reports whether a row stands for no attempt at all: the instant was skipped before a
// run began.
func unrun(row Row) bool {
	return row.Attempt == 0 && (row.State == Skipped || row.State == Missed)
}

// join adds the next attempt of the run, which should have the next number.
func (g *group) join(row Row) {
	switch row.Attempt {
	case g.last.Attempt:
		g.repeated = true
	case g.last.Attempt + 1:
	default:
		g.holes = true
	}
	g.count(row)
}

// count counts a row of the run, and whether it is final.
func (g *group) count(row Row) {
	g.rows++
	g.last = row
	if row.Cause == Retry { // an operator asked for it after the run had ended
		g.finals = 0
	}
	if row.State.Final() {
		g.finals++
	}
}

// closeRun checks the run whose last attempt has been read.
func (c *checker) closeRun() {
	g := c.group
	if g.rows == 0 {
		return
	}
	c.group = group{}
	row := g.first
	at := Finding{Job: row.Job, Item: row.Item, Run: row.Run, First: row.Instant, Last: row.Instant}
	st := c.account(row.Item)

	// A retry and a failover keep the id of their run, which may be that of a trigger.
	named := row.Cause != Trigger && row.Run == strconv.FormatInt(row.Instant, 10)
	if row.Cause != Trigger && row.Cause != Retry && row.Cause != Failover && !named {
		c.found(at, Malformed, "run id %q is not that of its instant", row.Run)
	}
	if named && !c.in.Elsewhere && row.Cause != Backfill { // a backfilled instant was accounted for before
		c.cover(st, row.Instant, row.Instant, row.Run)
	}
	if g.repeated || g.finals > 1 {
		c.found(at, Doubled, "run %s ended %d times in %d rows", row.Run, g.finals, g.rows)
	}
	if g.holes {
		c.found(at, Hole, "the %d attempts of run %s begin at %d and end at %d", g.rows, row.Run, row.Attempt, g.last.Attempt)
	}
	if began(g.last.State) {
		// An item runs once at a time, so its earlier runs have ended.
		c.release(st)
	}
	if !g.last.State.Final() {
		at.Kind, at.Attempt = Dangling, g.last.Attempt
		at.Detail = fmt.Sprintf("attempt %d of run %s is %s, and no later attempt follows", g.last.Attempt, row.Run, g.last.State)
		c.hold(st, at)
	}
}

// began reports whether a row of this state stands for a guest that ran.
func began(s State) bool { return s != Skipped && s != Missed }

// gap checks the row of a gap. Its count and its end are checked by a bound when the pass has
// reached that end.
func (c *checker) gap(row Row) {
	last := lastOf(row)
	at := Finding{Job: row.Job, Item: row.Item, Run: row.Run, First: row.Instant, Last: last}
	if row.Run != "gap-"+strconv.FormatInt(row.Instant, 10) || row.Attempt != 0 ||
		row.Count < 0 || row.Last < row.Instant || !row.State.Final() {
		c.found(at, Malformed, "gap row %q (attempt %d, state %s, count %d) contradicts itself", row.Run, row.Attempt, row.State, row.Count)
	}
	before := c.cover(c.account(row.Item), row.Instant, last, row.Run)
	c.bounds.push(bound{at: last, item: row.Item, gap: true, since: before, count: row.Count, finding: at})
}

// lastOf returns the last instant of a row.
func lastOf(row Row) int64 {
	if row.Count == 0 {
		return row.Instant
	}
	return max(row.Instant, row.Last)
}

// cover accounts for the instants from first through last. It returns the number of instants of
// the pass before first.
func (c *checker) cover(st *account, first, last int64, run string) int64 {
	c.advance(first)
	// Number and last of the instants before first, which the pass has just reached.
	before, latest := c.ticks.n, c.ticks.last
	if c.ticks.n > 0 && c.ticks.last == first {
		before, latest = c.ticks.n-1, c.ticks.prev
	} else {
		c.found(Finding{Job: c.in.Job, Item: st.item, Run: run, First: first, Last: first}, Unscheduled,
			"%s begins at no instant of the schedule (was the schedule changed?)", run)
	}
	if st.begun && first > st.base {
		c.missing(st, latest, before-st.baseN, false)
	}
	if st.hasCovered && first <= st.covered && min(last, st.covered) > c.in.From {
		c.found(Finding{Job: c.in.Job, Item: st.item, Run: run, First: max(first, c.in.From+1), Last: min(last, st.covered)},
			Overlap, "%s and %s account for the same instants", st.by, run)
	}
	if !st.hasCovered || last > st.covered {
		st.covered, st.by, st.hasCovered = last, run, true
	}
	if !st.begun || last > st.base {
		st.begun, st.base, st.baseN = true, last, c.ticks.n
		// The number of instants up to the end of a gap is known only once the pass has reached
		// it; then its bound sets baseN.
	}
	return before
}

// missing reports that count instants after st.base, up to last, have no row. A single one may be
// of a run that is still going on, so it is held; with atEnd no run is.
func (c *checker) missing(st *account, last, count int64, atEnd bool) {
	if count <= 0 {
		return
	}
	first := last
	c.instants(st.base, last, func(t int64) bool {
		first = t
		return false
	})
	f := Finding{Kind: Missing, Job: c.in.Job, Item: st.item, First: first, Last: last, Count: count,
		Detail: "1 scheduled instant has no row"}
	if count > 1 {
		f.Detail = fmt.Sprintf("%d scheduled instants have no row", count)
	}
	if count == 1 && !atEnd {
		f.Run = strconv.FormatInt(first, 10)
		c.hold(st, f)
		return
	}
	c.keep(f)
}

// hold keeps a finding until it is certain that its run is not still going on. An item runs
// once at a time, so it has at most one such finding.
func (c *checker) hold(st *account, f Finding) {
	c.release(st)
	st.held = &f
}

// release reports the finding that was held for the item, since its run has ended.
func (c *checker) release(st *account) {
	if st.held != nil {
		c.keep(*st.held)
		st.held = nil
	}
}

// account returns the account of an item, and opens one if it has none.
func (c *checker) account(item int) *account {
	st := c.items[item]
	if st == nil {
		st = &account{item: item}
		c.items[item] = st
	}
	return st
}

// found reports a finding of a kind.
func (c *checker) found(at Finding, kind Kind, format string, args ...any) {
	at.Kind, at.Detail = kind, fmt.Sprintf(format, args...)
	c.keep(at)
}

// keep adds a finding to the report, or only counts it beyond the limit.
func (c *checker) keep(f Finding) {
	if len(c.report.Findings) >= c.in.Limit {
		c.report.More++
		return
	}
	c.report.Findings = append(c.report.Findings, f)
}
