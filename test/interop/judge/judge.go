package judge

import (
	"fmt"
	"slices"
	"strings"
)

// Rule says what an event may do to the ticks in its span.
type Rule uint8

const (
	// Exact: every item once.
	Exact Rule = iota
	// Join: a member of ElasticJob that joins at an instant may be dealt items of
	// it before it has a scheduler, and then misses it.
	Join
	// Leave: the leaver's items may miss the instant at which it left, and then
	// have a row, if a member of ours has them next.
	Leave
	// Kill: the dead one's items may miss instants until they run elsewhere.
	Kill
	// Freeze: as Kill, and a run that was going on ends when its process wakes.
	Freeze
	// Twice: as Kill, and items may run more than once: ElasticJob's failover runs
	// what had ended, and a process that wakes goes on where it was.
	Twice
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
	// multiples may or may not come. A member of ElasticJob may also miss the
	// first instant after the change, which its scheduler had prepared for.
	Also  int64
	Items int
	Wants map[int]Want // of items that are not wanted once
	Rule  Rule
	Hit   string // the member to which it happened
	// JavaDeals: a member of ElasticJob leads. Right after it has dealt items
	// anew, its members look in their caches for what is theirs: one may miss the
	// instant with an item that is new to it.
	JavaDeals bool
	// Joined is when the member said that it had; of Join. What joins around an
	// instant has a leader of ElasticJob deal items out after others have begun:
	// those that leave its members for others may miss it.
	Joined int64
	// Led is when somebody led again; of Leave, where a member of ElasticJob led.
	// It may queue for the lead once more while it leaves, and then nobody leads,
	// nor deals its items out, before its session has ended.
	Led int64
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
}

// Row is a line of the table.
type Row struct {
	Role, Event                 string
	Ticks, Exact, Missed, Twice int
	Faults                      int // what the event does not excuse
	Unsure                      int // ran on a member of ElasticJob, and our history does not know
}

// Report is what came out.
type Report struct {
	Rows     []Row
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
	report Report
}

// Judge holds the runs against the timeline.
func Judge(in Input) Report {
	j := &judge{in: in, runs: map[tick][]Run{}, byItem: map[int][]Run{}}
	in.Runs = slices.Clone(in.Runs)
	Sort(in.Runs)
	for _, r := range in.Runs {
		j.byItem[r.Item] = append(j.byItem[r.Item], r)
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

// instant is what a run is for. A Java member does not tell; it fires within a
// fraction of the time between instants.
func instant(spans []Span, r Run) int64 {
	t := r.Instant
	if t == 0 {
		t = r.Start
	}
	s := at(spans, t)
	switch {
	case s == nil:
		return 0
	case s.Every == 0:
		return s.From
	case r.Instant == 0 && s.Also != 0:
		return t - t%min(s.Every, s.Also)
	case r.Instant == 0:
		return t - t%s.Every
	}
	return t
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
	row := j.row(s)
	for t := first(s); t < end; t += s.Every {
		row.Ticks++
		missed, twice := j.tick(s, t)
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
			if s.Rule != Twice && !again(ran) {
				j.found(s, t, "item %d ran %d times, by %s", item, len(ran), members(ran))
			}
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

// again tells whether only the last of the runs of an instant came to its end,
// as after a death within the first.
func again(ran []Run) bool {
	for _, r := range ran[:len(ran)-1] {
		if r.End != 0 {
			return false
		}
	}
	return true
}

// miss judges an item that did not run.
func (j *judge) miss(s Span, item int, t int64) {
	before, after := j.neighbours(item, t)
	switch {
	case s.JavaDeals && s.Event != "steady" && after.Java && after.Member != before.Member:
	case s.Also != 0 && before.Java && t <= first(s)+s.Every:
	case s.Rule == Join && after.Java && after.Member == s.Hit && t <= s.Joined && s.Joined < t+s.Every:
	case s.Rule == Join && s.JavaDeals && before.Java && !after.Java && t-100 <= s.Joined && s.Joined < t+500:
	case s.Rule == Exact, s.Rule == Join, before.Member != s.Hit, s.Rule == Leave && t != first(s) && t > s.Led:
		j.found(s, t, "item %d did not run; before it was %s's", item, before.Member)
	case after.Start != 0 && !after.Java && before.Java && !j.gap(item, t):
		j.found(s, t, "item %d did not run and has no row, and %s has it now", item, after.Member)
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

// overlaps: an item runs in one place at a time, unless a frozen process wakes.
func (j *judge) overlaps() {
	for item := range j.byItem {
		var last Run
		for _, r := range j.byItem[item] {
			if last.End > r.Start {
				s := at(j.in.Spans, r.Start)
				if s != nil && s.Rule != Twice && (s.Rule != Freeze || s.Hit != last.Member) {
					j.found(*s, r.Start, "item %d started on %s while %s still ran it, for %d ms", item, r.Member, last.Member, last.End-r.Start)
				}
			}
			if r.End > last.End {
				last = r
			}
		}
	}
}

func members(runs []Run) string {
	var all []string
	for _, r := range runs {
		all = append(all, fmt.Sprintf("%s at %d", r.Member, r.Start))
	}
	return strings.Join(all, " and ")
}

func (j *judge) found(s Span, t int64, format string, args ...any) {
	j.row(s).Faults++
	j.report.Findings = append(j.report.Findings, fmt.Sprintf("%s, %s, %d: ", s.Role, s.Event, t)+fmt.Sprintf(format, args...))
}
