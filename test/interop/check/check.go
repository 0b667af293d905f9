package check

import (
	"fmt"
	"slices"
	"strings"
)

// Rule is the kind of an event that hit a member. It decides which of the member's items
// may miss runs for a while.
type Rule uint8

const (
	// Exact means that nothing happened to it.
	Exact Rule = iota
	// Join means that it started.
	Join
	// Leave means that it was asked to stop.
	Leave
	// Kill means that it was killed.
	Kill
	// Freeze means that it was frozen, or woke.
	Freeze
)

// Want is how often an item runs in a tick.
type Want uint8

const (
	// Once is for items that are enabled.
	Once Want = iota
	// Never is for items that are disabled.
	Never
	// Maybe is for items that come or go with the event.
	Maybe
)

// Span is a part of the timeline: the event at its beginning, and the ticks until the
// next event.
type Span struct {
	Role  string
	Event string // "steady", or the event
	From  int64  // the first instant that the event may have affected
	// Every is the time between instants, which are its multiples; 0 if the only instant
	// is From.
	Every int64
	// Also is the time between instants from before the event: instants at its multiples
	// are optional.
	Also  int64
	Items int
	Wants map[int]Want // of items whose Want is not Once
	Rule  Rule
	Hit   string // the member that the event hit
}

// Frozen is a time during which a member's process was frozen.
type Frozen struct {
	Member   string
	From, To int64
}

// Gap is a row of one of our members about instants that did not run.
type Gap struct {
	Item        int
	First, Last int64
}

// Input is the input of Runs.
type Input struct {
	Runs  []Run
	Spans []Span // in order
	To    int64  // the last instant that counts
	Gaps  []Gap
	// Evidence that ElasticJob caused something:
	Log       []Change   // ZooKeeper's log of the nodes below the job's
	JavaLines []JavaLine // output of the schedulers of Java members
	Frozen    []Frozen
	Session   int64 // the time-out of sessions
}

// Row is a line of the table.
type Row struct {
	Role, Event                 string
	Ticks, Exact, Missed, Twice int
	Excused                     int // caused by ElasticJob, or inevitable
	Faults                      int // not excused
	Unsure                      int // ran on a member of ElasticJob, but is missing in our history
}

// Report is the result of Runs.
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

type checker struct {
	in     Input
	runs   map[tick][]Run
	byItem map[int][]Run
	items  int             // more than the largest number of an item
	java   map[string]bool // the members of ElasticJob
	tree   tree
	report Report
}

// Runs compares the runs with the timeline.
func Runs(in Input) Report {
	k := &checker{in: in, runs: map[tick][]Run{}, byItem: map[int][]Run{}, java: map[string]bool{}, tree: grow(in.Log)}
	for _, t := range in.JavaLines {
		k.java[t.Member] = true
	}
	in.Runs = slices.Clone(in.Runs)
	Sort(in.Runs)
	for _, r := range in.Runs {
		k.byItem[r.Item] = append(k.byItem[r.Item], r)
		k.items = max(k.items, r.Item+1)
		if at := instant(in.Spans, r); at != 0 {
			k.runs[tick{r.Item, at}] = append(k.runs[tick{r.Item, at}], r)
		}
	}
	for i := range in.Spans {
		k.span(i)
	}
	k.overlaps()
	return k.report
}

// instant returns the instant of a run. A requested run counts for the instant before it,
// if the job has instants.
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

// at returns the span that contains a time.
func at(spans []Span, t int64) *Span {
	for i := len(spans) - 1; i >= 0; i-- {
		if spans[i].From <= t {
			return &spans[i]
		}
	}
	return nil
}

// span checks the ticks of a span.
func (k *checker) span(i int) {
	s := k.in.Spans[i]
	end := k.in.To + 1
	if i+1 < len(k.in.Spans) {
		end = min(end, k.in.Spans[i+1].From)
	}
	excused, ticks := len(k.report.Excuses), 0
	for t := first(s); t < end; t += s.Every {
		missed, twice := k.tick(s, t)
		row := k.row(s)
		row.Ticks++
		ticks++
		row.Unsure += k.unsure(s, t)
		row.Missed += missed
		row.Twice += twice
		if missed == 0 && twice == 0 {
			row.Exact++
		}
		if s.Every == 0 {
			break
		}
	}
	k.bound(s, ticks, k.report.Excuses[excused:])
}

// bound reports a reason that excuses too many items of a span.
func (k *checker) bound(s Span, ticks int, excuses []Excuse) {
	n := map[Reason]int{}
	for _, e := range excuses {
		if n[e.Reason]++; e.Reason != Away && n[e.Reason] == most(s, ticks)+1 {
			k.found(s, e.At, "more than %d items are excused because %s", most(s, ticks), e.Reason)
		}
	}
}

// first returns the first instant of a span.
func first(s Span) int64 {
	if s.Every == 0 {
		return s.From
	}
	return (s.From + s.Every - 1) / s.Every * s.Every
}

// row returns the row of a span's role and event.
func (k *checker) row(s Span) *Row {
	for i := range k.report.Rows {
		if r := &k.report.Rows[i]; r.Role == s.Role && r.Event == s.Event {
			return r
		}
	}
	k.report.Rows = append(k.report.Rows, Row{Role: s.Role, Event: s.Event})
	return &k.report.Rows[len(k.report.Rows)-1]
}

// tick counts the items that did not run as wanted at one instant, and reports those
// that the event does not excuse.
func (k *checker) tick(s Span, t int64) (missed, twice int) {
	items := s.Items
	for item := range s.Wants {
		items = max(items, item+1)
	}
	for item := range items {
		ran := k.runs[tick{item, t}]
		switch want := s.Wants[item]; {
		case want == Never && len(ran) > 0:
			twice++
			k.found(s, t, "item %d ran, by %s, and should not have", item, ran[0].Member)
		case want == Once && len(ran) == 0:
			missed++
			k.miss(s, item, t)
		case len(ran) > 1:
			twice++
			k.repeated(s, item, t, ran)
		}
	}
	return missed, twice
}

// unsure counts the items that ran to their end on a member of ElasticJob although a
// row of ours says that they did not run.
func (k *checker) unsure(s Span, t int64) int {
	n := 0
	for item := range s.Items {
		for _, r := range k.runs[tick{item, t}] {
			if r.Java && r.End != 0 && k.gap(item, t) {
				n++
			}
		}
	}
	return n
}

// gap reports whether one of our rows says that an instant did not run.
func (k *checker) gap(item int, t int64) bool {
	return slices.ContainsFunc(k.in.Gaps, func(g Gap) bool { return g.Item == item && g.First <= t && t <= g.Last })
}

// repeated checks an item that ran more than once. That is valid if each run before the
// last was cut off.
func (k *checker) repeated(s Span, item int, t int64, ran []Run) {
	for i, r := range ran[1:] {
		before := ran[i]
		if k.cutOff(before, r) {
			continue
		}
		if why, evidence := k.twice(before, r); why != "" {
			k.excuse(s, why, item, t, evidence)
			continue
		}
		k.found(s, t, "item %d ran %d times, by %s; %s", item, len(ran), members(ran), k.facts(s, item, t))
	}
}

// cutOff reports whether a run did not end and the next one may follow it: its member's
// instance was gone, or one of our members makes another attempt.
func (k *checker) cutOff(r, next Run) bool {
	if r.End != 0 {
		return false
	}
	return k.tree.left(r.Member, r.Start, next.Start) || !r.Java && next.Member == r.Member && next.Attempt == r.Attempt+1
}

// miss checks an item that did not run.
func (k *checker) miss(s Span, item int, t int64) {
	why, evidence := k.missed(s, item, t)
	before, after := k.neighbours(item, t)
	switch {
	case why == "":
		k.found(s, t, "item %d did not run; before it was %s's; %s", item, before.Member, k.facts(s, item, t))
	// A member of ours that got the item from ElasticJob writes a row for what it
	// missed.
	case (why == Away || why == Misfired) && after.Start != 0 && !after.Java && before.Java && !k.gap(item, t):
		k.found(s, t, "item %d did not run and has no row, and %s has it now; %s", item, after.Member, k.facts(s, item, t))
	default:
		k.excuse(s, why, item, t, evidence)
	}
}

// neighbours returns the runs of an item before and after an instant without one.
func (k *checker) neighbours(item int, t int64) (before, after Run) {
	for _, r := range k.byItem[item] {
		if r.Start >= t {
			return before, r
		}
		before = r
	}
	return before, Run{}
}

// overlaps checks that an item runs in only one place at a time.
func (k *checker) overlaps() {
	for item := range k.byItem {
		var last Run
		for _, r := range k.byItem[item] {
			if last.End > r.Start {
				k.overlap(item, last, r)
			}
			if r.End > last.End {
				last = r
			}
		}
	}
}

// overlap reports that run r of an item began while the run last had not ended, unless
// there is an excuse.
func (k *checker) overlap(item int, last, r Run) {
	s := at(k.in.Spans, r.Start)
	if s == nil {
		return // before the first event
	}
	if why, evidence := k.twice(last, r); why != "" {
		k.excuse(*s, why, item, r.Start, evidence)
		return
	}
	k.found(*s, r.Start, "item %d started on %s while %s still ran it, for %d ms; %s", item, r.Member, last.Member, last.End-r.Start, k.facts(*s, item, r.Start))
}

// members lists who began the runs, and when.
func members(runs []Run) string {
	var all []string
	for _, r := range runs {
		all = append(all, fmt.Sprintf("%s at %d", r.Member, r.Start))
	}
	return strings.Join(all, " and ")
}

// excuse counts an item that is no fault, with the reason.
func (k *checker) excuse(s Span, why Reason, item int, t int64, evidence string) {
	k.row(s).Excused++
	k.report.Excuses = append(k.report.Excuses, Excuse{Reason: why, Role: s.Role, Event: s.Event, Item: item, At: t, Evidence: evidence})
}

// found reports a fault of an instant.
func (k *checker) found(s Span, t int64, format string, args ...any) {
	k.row(s).Faults++
	k.report.Findings = append(k.report.Findings, fmt.Sprintf("%s, %s, %d: ", s.Role, s.Event, t)+fmt.Sprintf(format, args...))
}

// facts describes the evidence about an item around an instant, to explain a finding.
func (k *checker) facts(s Span, item int, t int64) string {
	all := []string{fmt.Sprintf("its owner was %s", k.tree.named(item, t))}
	for _, m := range k.tree.moves(item, t-2*s.Every, t+2*s.Every) {
		all = append(all, fmt.Sprintf("%s gave it to %s at %s", m.by, m.to, since(t, m.at)))
	}
	for _, line := range k.in.JavaLines {
		if line.At > t-s.Every && line.At < t+s.Every {
			all = append(all, fmt.Sprintf("%s %s %d at %s", line.Member, line.Word, line.Instant, since(t, line.At)))
		}
	}
	return strings.Join(all, ", ")
}
