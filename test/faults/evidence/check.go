package evidence

import (
	"fmt"
	"slices"
	"time"

	"github.com/wasmjob/wasmjob/host/trace"
)

// Kind is the kind of a Finding.
type Kind string

const (
	Overlap  Kind = "overlap"  // two guests of one item at once
	Loss     Kind = "loss"     // a due instant without run and row
	Double   Kind = "double"   // one attempt of one run twice
	Token    Kind = "token"    // a later run whose token is not larger
	Row      Kind = "row"      // rows and guests, or rows among themselves, disagree
	Elements Kind = "elements" // a batch that does not follow the one before
	Forgot   Kind = "forgot"   // the registry has lost what it had acknowledged
)

// Finding is one error that Check found.
type Finding struct {
	Kind Kind
	Text string
}

// Job describes a job.
type Job struct {
	Name    string
	Items   int
	Every   time.Duration // instants are its multiples since 1970
	Batch   int64         // elements of a batch of a dataflow job
	Command bool          // its runs are processes, which go on while their server is frozen
}

// Span is a time in Unix milliseconds during which a server was frozen. Server
// is its address, which several instances may have had.
type Span struct {
	Server   string
	From, To int64
}

// Moment is the time at which a fault hit the server with an address.
type Moment struct {
	Server string
	At     int64
}

// Input is the input of Check.
type Input struct {
	Lines []Line
	// Rows are the rows of all histories.
	Rows []trace.Row
	Jobs []Job
	// From and To are the window (From, To], whose instants must be accounted for.
	From, To int64

	Frozen []Span
	// Hit lists the faults after which others had to take over.
	Hit []Moment
	// Wiped lists the times at which the registry's data was removed, and with it the
	// rows of open runs and of overdue instants. No instant of an item needs to be
	// accounted for between its last run but one before such a time and its first run
	// after it.
	Wiped []int64
	// Written has the revisions in the registry's own log; empty if the log was not read.
	// They show whose fault missing rows are.
	Written map[int64]bool
}

// Report is the result of Check.
type Report struct {
	// Runs counts the guests that wrote lines. Two guests of one attempt count twice.
	Runs     int
	Instants int // instants that had to be accounted for, over all items
	Findings []Finding
	// Late counts the lines that a guest wrote when it woke with its frozen server,
	// although the next guest of its item had started. Each has the older token, so a
	// sink can refuse it.
	Late int
	// LateFor is the time from waking to the last of these lines.
	LateFor time.Duration
	// Open counts the runs that were open when their server was hit. TookOver holds the
	// times from then to the start of their next attempt elsewhere. Runs without a next
	// attempt have a row instead.
	Open     int
	TookOver []time.Duration
	// Margin is the shortest time from the last sign of life of such a run to the start
	// of the next guest of its item elsewhere; negative if there was none.
	Margin time.Duration
}

// Count returns the number of findings of a kind.
func (r Report) Count(k Kind) int {
	n := 0
	for _, f := range r.Findings {
		if f.Kind == k {
			n++
		}
	}
	return n
}

// Check looks for contradictions among the lines, the rows, the instants of the jobs and the
// registry's log, and measures how long takeovers took.
func Check(in Input) Report {
	guests := gather(in.Lines, in.Wiped)
	c := &checker{in: in, eras: eras(in, guests), report: Report{Runs: len(guests), Margin: noMargin}, rows: rowsByAttempt(in.Rows)}
	c.doubles(guests)
	for _, group := range byItem(guests) {
		c.overlaps(group)
		c.tokens(group)
		c.elements(group)
		c.takeovers(group)
	}
	c.losses(guests)
	c.agree(guests)
	c.forgotten(guests)
	c.accounts()
	return c.report
}

// noMargin is a Margin that was not measured.
const noMargin time.Duration = -1

type checker struct {
	in     Input
	eras   []era
	report Report
	rows   map[attempt][]trace.Row
}

// found reports a finding.
func (c *checker) found(k Kind, format string, args ...any) {
	c.report.Findings = append(c.report.Findings, Finding{k, fmt.Sprintf(format, args...)})
}

// rowsByAttempt groups rows by attempt, without gaps.
func rowsByAttempt(rows []trace.Row) map[attempt][]trace.Row {
	out := map[attempt][]trace.Row{}
	for _, r := range rows {
		if r.Count == 0 {
			a := attempt{run{item{r.Job, r.Item}, r.Run}, r.Attempt}
			out[a] = append(out[a], r)
		}
	}
	return out
}

// doubles checks that an attempt of a run starts only once.
func (c *checker) doubles(guests []*guest) {
	seen := map[attempt]*guest{}
	for _, g := range guests {
		if g.starts != 1 || g.lines[0].Word != "start" {
			c.found(Double, "%s has started %d times", g, g.starts)
		}
		if before := seen[g.attempt]; before != nil {
			c.found(Double, "%s, and by %s with token %d", g, before.server, before.token)
		}
		seen[g.attempt] = g
	}
}

// overlaps checks that between the first and the last line of a guest no other guest of
// the item writes. The order in the file decides, not a clock.
func (c *checker) overlaps(guests []*guest) {
	for i, a := range guests {
		for _, b := range guests[i+1:] {
			if b.first().order > a.last().order {
				break // and so are all that follow
			}
			c.overlap(a, b)
		}
	}
}

// overlap checks two guests that wrote at once. That is allowed if one was frozen when
// the other started and wrote when it woke, with the older token.
func (c *checker) overlap(a, b *guest) {
	old, young := a, b
	if a.token > b.token {
		old, young = b, a
	}
	late := slices.DeleteFunc(slices.Clone(old.lines), func(l Line) bool { return l.order < young.first().order })
	woke, ok := c.frozenAt(old, young.first().At)
	if !ok || old.token == young.token || old.era != young.era {
		c.found(Overlap, "%s and %s: %d lines", old, young, len(late))
		return
	}
	took := time.Duration(late[len(late)-1].At-woke) * time.Millisecond
	if took > wakeTime {
		c.found(Overlap, "%s wrote %v after it woke, beside %s", old, took, young)
		return
	}
	c.report.Late += len(late)
	c.report.LateFor = max(c.report.LateFor, took)
}

// wakeTime is how long after waking a server may let a guest go on that it has lost:
// until its next check.
const wakeTime = time.Second

// frozenAt returns when the server of a guest woke if it was frozen at a time. The guest
// wakes at the same time.
func (c *checker) frozenAt(g *guest, at int64) (woke int64, ok bool) {
	if slices.ContainsFunc(c.in.Jobs, func(j Job) bool { return j.Name == g.job && j.Command }) {
		return 0, false
	}
	for _, s := range c.in.Frozen {
		if s.Server == g.ip() && s.From <= at && at <= s.To {
			return s.To, true
		}
	}
	return 0, false
}

// tokens checks that a guest that starts later has the larger token, as long as the
// registry keeps its data.
func (c *checker) tokens(guests []*guest) {
	var newest *guest
	for _, g := range guests {
		switch {
		case newest == nil || g.era > newest.era || g.era == newest.era && g.token > newest.token:
			newest = g
		case g.era < newest.era:
		default:
			// If its server was frozen when newest started, the guest wrote its first
			// line only when it woke.
			if _, woke := c.frozenAt(g, newest.first().At); !woke || g.token == newest.token {
				c.found(Token, "%s started after %s", g, newest)
			}
		}
	}
}

// elements checks that a batch begins where the last stored batch ended. A batch was not
// stored if its guest has not reached its end, and was stored if its row says that it
// succeeded.
func (c *checker) elements(guests []*guest) {
	var before *guest
	for _, g := range byToken(guests) {
		if len(g.elements) == 0 {
			continue
		}
		batch := int64(0)
		for _, j := range c.in.Jobs {
			if j.Name == g.job {
				batch = j.Batch
			}
		}
		next := g.elements[0]
		switch {
		case before == nil || g.era > before.era:
			if next != 0 { // the state was lost with the data
				c.found(Elements, "%s begins with element %d, not with the first", g, next)
			}
		case next == before.elements[0] && !c.succeeded(before.attempt):
		case next == before.elements[0]+batch && before.end:
		default:
			c.found(Elements, "%s begins with element %d after %s began with %d (end %v, row %v)",
				g, next, before, before.elements[0], before.end, c.succeeded(before.attempt))
		}
		before = g
	}
}

// succeeded reports whether a row says that the attempt succeeded.
func (c *checker) succeeded(a attempt) bool {
	return slices.ContainsFunc(c.rows[a], func(r trace.Row) bool { return r.State == trace.Succeeded })
}

// losses checks that each instant of the window has a run or a row.
func (c *checker) losses(guests []*guest) {
	ran := map[run]bool{}
	for _, g := range guests {
		ran[g.run] = true
	}
	gaps := map[item][]trace.Row{}
	for _, r := range c.in.Rows {
		at := item{r.Job, r.Item}
		if r.Count > 0 {
			gaps[at] = append(gaps[at], r)
		} else {
			ran[run{at, r.Run}] = true
		}
	}
	for _, e := range c.eras {
		for _, j := range c.in.Jobs {
			for no := range j.Items {
				at := item{j.Name, no}
				instants(j, e.start(at), e.open(at), func(t int64) bool {
					c.report.Instants++
					if !ran[at.at(t)] && !slices.ContainsFunc(gaps[at], func(r trace.Row) bool { return r.Instant <= t && t <= r.Last }) {
						c.found(Loss, "%s of %d has neither run nor row", at, t)
					}
					return true
				})
			}
		}
	}
}

// instants yields the instants t of a job with after < t <= upTo.
func instants(j Job, after, upTo int64, yield func(int64) bool) {
	every := j.Every.Milliseconds()
	for t := (after/every + 1) * every; t <= upTo && yield(t); t += every {
	}
}

// agree compares the guests' reports with the rows.
func (c *checker) agree(guests []*guest) {
	reported := map[attempt]*guest{}
	for _, g := range guests {
		reported[g.attempt] = g
		rows := c.rows[g.attempt]
		if len(rows) == 0 && c.eras[g.era].last[g.item] != g { // else its row went with the data
			c.found(Row, "%s has no row", g)
		}
		for _, r := range rows {
			switch {
			case r.Fence != g.token && r.Fence != 0: // 0: not known
				c.found(Row, "%s: the row has token %d", g, r.Fence)
			case r.Instance != g.server:
				c.found(Row, "%s: the row names %s", g, r.Instance)
			case r.State == trace.Skipped || r.State == trace.Missed:
				c.found(Row, "%s: the row says %s (%s)", g, r.State, r.Reason)
			case r.State == trace.Succeeded && !g.end:
				c.found(Row, "%s succeeded by its row, and has not come to its end", g)
			}
		}
	}
	for a, rows := range c.rows {
		if reported[a] == nil && slices.ContainsFunc(rows, func(r trace.Row) bool { return r.State == trace.Succeeded }) {
			c.found(Row, "%s succeeded by its row, and no guest reported it", a)
		}
	}
	for _, g := range guests {
		if later := (attempt{g.run, g.n + 1}); c.succeeded(g.attempt) && reported[later] != nil {
			c.found(Row, "%s succeeded, and started once more", g)
		}
	}
}

// forgotten checks that the write that lets a guest begin is in the registry's log, for
// as long as the registry keeps its data.
func (c *checker) forgotten(guests []*guest) {
	if len(c.in.Written) == 0 {
		return
	}
	for _, g := range guests {
		if g.era == len(c.in.Wiped) && !c.in.Written[g.token] {
			c.found(Forgot, "%s: the registry's log does not have that transaction", g)
		}
	}
}

// accounts compares the rows with the schedules: each instant must be in exactly one
// final row or gap, attempts must be consecutive, and gaps must count correctly.
func (c *checker) accounts() {
	rows := unique(c.in.Rows)
	for _, e := range c.eras {
		for _, j := range c.in.Jobs {
			c.account(e, j, rows)
		}
	}
}

// account compares the rows of a job, in one era, with its schedule.
func (c *checker) account(e era, j Job, rows []trace.Row) {
	in := trace.CheckInput{
		Job: j.Name, From: e.from, To: e.to,
		Instants: func(after, upTo int64, yield func(int64) bool) { instants(j, after, upTo, yield) },
		Start:    func(no int) int64 { return e.start(item{j.Name, no}) },
		Open:     func(no int) int64 { return e.open(item{j.Name, no}) },
		Rows: func(yield func(trace.Row, error) bool) {
			for _, r := range rows {
				at := item{r.Job, r.Item}
				if r.Job == j.Name && max(r.Instant, r.Last) > e.start(at) && r.Instant <= e.open(at) && !yield(r, nil) {
					return
				}
			}
		},
	}
	for no := range j.Items {
		in.Items = append(in.Items, no)
	}
	report, err := trace.Check(in)
	if err != nil {
		c.found(Row, "%s: %v", j.Name, err)
	}
	for _, f := range report.Findings {
		c.found(Row, "%s item %d, %d to %d: %s: %s", f.Job, f.Item, f.First, f.Last, f.Kind, f.Detail)
	}
}
