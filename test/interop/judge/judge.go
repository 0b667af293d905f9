package judge

import (
	"fmt"
	"slices"
	"strings"
)

// Rule says what happened to the member that an event hit, which is why items of
// its own may not run for a while.
type Rule uint8

const (
	// Exact: nothing.
	Exact Rule = iota
	// Join: it began.
	Join
	// Leave: it was asked to end.
	Leave
	// Kill: it was killed.
	Kill
	// Freeze: it was frozen, or woke.
	Freeze
)

// Want is how often an item runs in a tick.
type Want uint8

const (
	// Once is for items that are enabled.
	Once Want = iota
	// Never is for those that are not.
	Never
	// Maybe is for those that come or go with the event.
	Maybe
)

// Span is a part of the timeline: what happened at its beginning, and what the
// ticks are like until the next one.
type Span struct {
	Role  string
	Event string // steady, or what happened
	From  int64  // the first instant that it may have touched
	// Every is the time between instants, which are its multiples; 0: there is
	// one, at From.
	Every int64
	// Also is another time between instants, of before the event: those at its
	// multiples may or may not come.
	Also  int64
	Items int
	Wants map[int]Want // of items that are not wanted once
	Rule  Rule
	Hit   string // the member to which it happened
}

// Frozen is a time during which the process of a member was stopped.
type Frozen struct {
	Member   string
	From, To int64
}

// Gap is a row of a member of ours about instants that did not run.
type Gap struct {
	Item        int
	First, Last int64
}

// Input is what Judge looks at.
type Input struct {
	Runs  []Run
	Spans []Span // in their order
	To    int64  // the last instant that counts
	Gaps  []Gap
	// What ElasticJob's own doing is told apart by.
	Log     []Change // what ZooKeeper has written below the job's node
	Told    []Told   // what schedulers of Java members said
	Frozen  []Frozen
	Session int64 // the time-out of sessions
}

// Row is a line of the table.
type Row struct {
	Role, Event                 string
	Ticks, Exact, Missed, Twice int
	Excused                     int // what is ElasticJob's own doing, or could not be otherwise
	Faults                      int // what nothing excuses
	Unsure                      int // ran on a member of ElasticJob, and our history does not know
}

// Report is what came out.
type Report struct {
	Rows     []Row
	Excuses  []Excuse
	Findings []string
}

// tick is an item at an instant.
type tick struct {
	item int
	at   int64
}

type judge struct {
	in     Input
	runs   map[tick][]Run
	byItem map[int][]Run
	items  int             // more than the largest number of an item
	java   map[string]bool // the members of ElasticJob
	tree   tree
	report Report
}

// Judge holds the runs against the timeline.
func Judge(in Input) Report {
	j := &judge{in: in, runs: map[tick][]Run{}, byItem: map[int][]Run{}, java: map[string]bool{}, tree: grow(in.Log)}
	for _, t := range in.Told {
		j.java[t.Member] = true
	}
	in.Runs = slices.Clone(in.Runs)
	Sort(in.Runs)
	for _, r := range in.Runs {
		j.byItem[r.Item] = append(j.byItem[r.Item], r)
		j.items = max(j.items, r.Item+1)
		if at := instant(in.Spans, r); at != 0 {
			j.runs[tick{r.Item, at}] = append(j.runs[tick{r.Item, at}], r)
		}
	}
	for i := range in.Spans {
		j.span(i)
	}
	j.overlaps()
	return j.report
}

// instant is what a run is for. One that somebody has asked for is of the
// instant before it, if there are any.
func instant(spans []Span, r Run) int64 {
	if r.Instant != 0 {
		return r.Instant
	}
	s := at(spans, r.Start)
	switch {
	case s == nil:
		return 0
	case s.Every == 0:
		return s.From
	}
	return r.Start - r.Start%s.Every
}

// at is the span of a time.
func at(spans []Span, t int64) *Span {
	for i := len(spans) - 1; i >= 0; i-- {
		if spans[i].From <= t {
			return &spans[i]
		}
	}
	return nil
}

// span judges the ticks of one.
func (j *judge) span(i int) {
	s := j.in.Spans[i]
	end := j.in.To + 1
	if i+1 < len(j.in.Spans) {
		end = min(end, j.in.Spans[i+1].From)
	}
	excused, ticks := len(j.report.Excuses), 0
	for t := first(s); t < end; t += s.Every {
		missed, twice := j.tick(s, t)
		row := j.row(s)
		row.Ticks++
		ticks++
		row.Unsure += j.unsure(s, t)
		row.Missed += missed
		row.Twice += twice
		if missed == 0 && twice == 0 {
			row.Exact++
		}
		if s.Every == 0 {
			break
		}
	}
	j.bound(s, ticks, j.report.Excuses[excused:])
}

// bound finds fault with a reason that excuses too much of a span.
func (j *judge) bound(s Span, ticks int, excuses []Excuse) {
	n := map[Reason]int{}
	for _, e := range excuses {
		if n[e.Reason]++; e.Reason != Away && n[e.Reason] == most(s, ticks)+1 {
			j.found(s, e.At, "more than %d items are excused because %s", most(s, ticks), e.Reason)
		}
	}
}

// first is the first instant of a span.
func first(s Span) int64 {
	if s.Every == 0 {
		return s.From
	}
	return (s.From + s.Every - 1) / s.Every * s.Every
}

// row is that of a span's role and event.
func (j *judge) row(s Span) *Row {
	for i := range j.report.Rows {
		if r := &j.report.Rows[i]; r.Role == s.Role && r.Event == s.Event {
			return r
		}
	}
	j.report.Rows = append(j.report.Rows, Row{Role: s.Role, Event: s.Event})
	return &j.report.Rows[len(j.report.Rows)-1]
}

// tick counts what is not as wanted at one instant, and finds fault with what
// the event does not excuse.
func (j *judge) tick(s Span, t int64) (missed, twice int) {
	items := s.Items
	for item := range s.Wants {
		items = max(items, item+1)
	}
	for item := range items {
		ran := j.runs[tick{item, t}]
		switch want := s.Wants[item]; {
		case want == Never && len(ran) > 0:
			twice++
			j.found(s, t, "item %d ran, by %s, and should not have", item, ran[0].Member)
		case want == Once && len(ran) == 0:
			missed++
			j.miss(s, item, t)
		case len(ran) > 1:
			twice++
			j.repeated(s, item, t, ran)
		}
	}
	return missed, twice
}

// unsure counts the items that ran to their end elsewhere, and of which a row of
// ours says otherwise.
func (j *judge) unsure(s Span, t int64) int {
	n := 0
	for item := range s.Items {
		for _, r := range j.runs[tick{item, t}] {
			if r.Java && r.End != 0 && j.gap(item, t) {
				n++
			}
		}
	}
	return n
}

// gap tells whether a row of ours says that an instant did not run.
func (j *judge) gap(item int, t int64) bool {
	return slices.ContainsFunc(j.in.Gaps, func(g Gap) bool { return g.Item == item && g.First <= t && t <= g.Last })
}

// repeated judges an item that ran more than once. That is as it should be when
// each before the last was cut off.
func (j *judge) repeated(s Span, item int, t int64, ran []Run) {
	for i, r := range ran[1:] {
		before := ran[i]
		if j.cutOff(before, r) {
			continue
		}
		if why, evidence := j.twice(before, r); why != "" {
			j.excuse(s, why, item, t, evidence)
			continue
		}
		j.found(s, t, "item %d ran %d times, by %s; %s", item, len(ran), members(ran), j.facts(s, item, t))
	}
}

// cutOff tells whether a run did not come to its end, and the next one follows it
// rightly: the instance of its member had gone, or one of ours makes another
// attempt.
func (j *judge) cutOff(r, next Run) bool {
	if r.End != 0 {
		return false
	}
	return j.tree.left(r.Member, r.Start, next.Start) || !r.Java && next.Member == r.Member && next.Attempt == r.Attempt+1
}

// miss judges an item that did not run.
func (j *judge) miss(s Span, item int, t int64) {
	why, evidence := j.missed(s, item, t)
	before, after := j.neighbours(item, t)
	switch {
	case why == "":
		j.found(s, t, "item %d did not run; before it was %s's; %s", item, before.Member, j.facts(s, item, t))
	case (why == Away || why == Misfired) && after.Start != 0 && !after.Java && before.Java && !j.gap(item, t):
		j.found(s, t, "item %d did not run and has no row, and %s has it now; %s", item, after.Member, j.facts(s, item, t))
	default:
		j.excuse(s, why, item, t, evidence)
	}
}

// neighbours are the runs of an item before and after an instant without one.
func (j *judge) neighbours(item int, t int64) (before, after Run) {
	for _, r := range j.byItem[item] {
		if r.Start >= t {
			return before, r
		}
		before = r
	}
	return before, Run{}
}

// overlaps: an item runs in one place at a time.
func (j *judge) overlaps() {
	for item := range j.byItem {
		var last Run
		for _, r := range j.byItem[item] {
			if last.End > r.Start {
				j.overlap(item, last, r)
			}
			if r.End > last.End {
				last = r
			}
		}
	}
}

func (j *judge) overlap(item int, last, r Run) {
	s := at(j.in.Spans, r.Start)
	if s == nil {
		return // before the first event
	}
	if why, evidence := j.twice(last, r); why != "" {
		j.excuse(*s, why, item, r.Start, evidence)
		return
	}
	j.found(*s, r.Start, "item %d started on %s while %s still ran it, for %d ms; %s", item, r.Member, last.Member, last.End-r.Start, j.facts(*s, item, r.Start))
}

func members(runs []Run) string {
	var all []string
	for _, r := range runs {
		all = append(all, fmt.Sprintf("%s at %d", r.Member, r.Start))
	}
	return strings.Join(all, " and ")
}

// excuse counts what is not a fault, and why.
func (j *judge) excuse(s Span, why Reason, item int, t int64, evidence string) {
	j.row(s).Excused++
	j.report.Excuses = append(j.report.Excuses, Excuse{Reason: why, Role: s.Role, Event: s.Event, Item: item, At: t, Evidence: evidence})
}

func (j *judge) found(s Span, t int64, format string, args ...any) {
	j.row(s).Faults++
	j.report.Findings = append(j.report.Findings, fmt.Sprintf("%s, %s, %d: ", s.Role, s.Event, t)+fmt.Sprintf(format, args...))
}

// facts is what the evidence has of an item around an instant, for whoever looks
// into a finding.
func (j *judge) facts(s Span, item int, t int64) string {
	all := []string{fmt.Sprintf("its owner was %s", j.tree.named(item, t))}
	for _, m := range j.tree.moves(item, t-2*s.Every, t+2*s.Every) {
		all = append(all, fmt.Sprintf("%s gave it to %s at %s", m.by, m.to, since(t, m.at)))
	}
	for _, told := range j.in.Told {
		if told.At > t-s.Every && told.At < t+s.Every {
			all = append(all, fmt.Sprintf("%s %s %d at %s", told.Member, told.Word, told.Instant, since(t, told.At)))
		}
	}
	return strings.Join(all, ", ")
}
