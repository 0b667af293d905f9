package operator

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/internal/schedule"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/reason"
	"github.com/wasmjob/wasmjob/host/trace"
)

// Question asks why items of a job ran at an instant, or did not.
type Question struct {
	Job  string
	Item *int      // nil: each
	At   time.Time // zero: the newest instant that should have come
}

// Explanation answers a Question.
type Explanation struct {
	Job string    `json:"job"`
	At  time.Time `json:"at,omitzero"` // zero: the job has no schedule, and none was asked for
	// RunsAfter are the jobs after which the job runs. It has an instant when all of them have
	// ended well.
	RunsAfter []string `json:"runs_after,omitempty"`
	// Due reports whether the job has the instant, by its present schedule or by RunsAfter;
	// Before and After are its neighbours there.
	Due bool `json:"due"`
	// Unreadable is why the job's configuration cannot be read, so that its instants are not
	// known; none if it can.
	Unreadable reason.Reason   `json:"unreadable,omitzero"`
	Before     time.Time       `json:"before,omitzero"`
	After      time.Time       `json:"after,omitzero"`
	Items      []Explained     `json:"items"`
	Now        []reason.Reason `json:"now"` // present faults and blockers of the job
	// Unread names servers and histories that did not answer and may have rows.
	Unread []string `json:"unread,omitempty"`
}

// The verdicts on an item.
const (
	Ran       = "ran"         // at least one attempt has ended
	RunsNow   = "running"     // it has begun
	Waits     = "waits"       // for a server, or for the time of its next attempt
	DidNotRun = "did_not_run" // and will not
	NotBegun  = "not_begun"   // so far
	NotYet    = "not_yet"     // the instant is to come
	NotDue    = "not_due"     // there is no such instant
	NoRow     = "no_row"      // it is accounted for, but no history that was read has its row
)

// Explained is why one item ran, or did not.
type Explained struct {
	Item    int            `json:"item"`
	Verdict string         `json:"verdict"`
	Why     reason.Reason  `json:"why,omitzero"`
	Server  job.InstanceID `json:"instance,omitempty"` // that ran it, or that Why is about
	Since   time.Time      `json:"since,omitzero"`     // begin of the run or of what Why says; zero: not known
	Until   time.Time      `json:"until,omitzero"`
	State   trace.State    `json:"state,omitempty"` // of its row
	Cause   trace.Cause    `json:"cause,omitempty"`
	Attempt int            `json:"attempt,omitempty"`
	Run     string         `json:"run,omitempty"`
	Param   string         `json:"param,omitempty"` // that replaced the job's
}

// History returns the newest rows of a job, or of one of its items, up to an instant. Without an item
// it returns all rows of each instant that it returns. unread names servers that may have more, but
// cannot be asked.
type History func(ctx context.Context, name string, item *int, upTo time.Time) (rows []trace.Row, unread []string, err error)

// Recall sets the history that the Operator reads.
func (o *Operator) Recall(h History) { o.history = h }

// farAhead bounds the instants that can be asked for.
const farAhead = 10 * 365 * 24 * time.Hour

// Explain says why items of a job ran at an instant, or did not. It goes by the job in the
// registry at one moment, its rows there, and the history that Recall set. Unread has the error of a
// history that cannot be read.
func (o *Operator) Explain(ctx context.Context, q Question) (*Explanation, error) {
	now := time.Now()
	if !q.At.IsZero() && (q.At.Unix() < 0 || q.At.After(now.Add(farAhead))) {
		return nil, failf(host.Invalid, nil, "explain job %s: %s cannot be one of its instants; write a time from 1970 to ten years from now", q.Job, q.At.Format(time.RFC3339))
	}
	v, l, err := o.jobView(ctx, q.Job)
	if err != nil {
		return nil, err
	}
	jobs := []JobReport{*o.report(l, q.Job, v)}
	if err := o.addDrains(ctx, jobs); err != nil {
		return nil, err
	}
	f := facts{now: now, job: &jobs[0], items: itemReports(v), rows: map[int][]trace.Row{}}
	views, wrong, err := o.predecessors(ctx, f.job)
	if err != nil {
		return nil, err
	}
	e := &Explanation{Job: q.Job, At: q.At, Items: []Explained{}, Now: append(append([]reason.Reason{}, f.job.Faults...), f.job.Blockers...)}
	e.Now = append(e.Now, wrong...)
	switch {
	case f.job.Config != nil:
	case v.ConfigFault != "":
		e.Unreadable = reason.Of(reason.ConfigUnreadable, v.ConfigFault)
	default:
		e.Unreadable = reason.Of(reason.ConfigGone)
	}
	f.plan(e)
	if len(views) > 0 {
		e.RunsAfter = f.job.Config.After
		f.planAfter(e, views)
	}
	for _, kept := range keptRows(l, q.Job, v) {
		f.rows[kept.Item] = append(f.rows[kept.Item], kept.Row)
	}
	if err := o.recall(ctx, q, e, &f); err != nil {
		return nil, err
	}
	items := f.known()
	switch {
	case q.Item != nil && !slices.Contains(items, *q.Item) && f.rows[*q.Item] == nil:
		return nil, failf(host.NotFound, nil, "explain job %s: there is no item %d; %s", q.Job, *q.Item, rangeOf(items))
	case q.Item != nil:
		items = []int{*q.Item}
	}
	for _, i := range items {
		e.Items = append(e.Items, f.explain(e, i))
	}
	return e, nil
}

// known returns the items of the job's configuration. If it cannot be read, these are the items
// in the registry.
func (f *facts) known() (items []int) {
	if f.job.Config == nil {
		for i := range f.items {
			items = append(items, f.items[i].Item)
		}
		return items
	}
	for i := range f.job.Config.Shards {
		items = append(items, i)
	}
	return items
}

// rangeOf says which items there are; they are in order, from 0 on.
func rangeOf(items []int) string {
	if len(items) == 0 {
		return "no item is known"
	}
	return "the items are 0 to " + strconv.Itoa(items[len(items)-1])
}

// recall adds the rows of the history to f and, if the job is paused or an item is disabled, the audit rows of the
// job, which show since when. A history that cannot be read is no error unless the time of ctx is over.
func (o *Operator) recall(ctx context.Context, q Question, e *Explanation, f *facts) (err error) {
	if o.history != nil && !e.At.IsZero() {
		within, cancel := halfOf(ctx) // so that there is time for an answer even without the history
		rows, unread, err := o.history(within, q.Job, q.Item, e.At)
		cancel()
		switch {
		case err != nil && ctx.Err() != nil:
			return failf(host.CodeOf(err), err, "explain job %s: read the history", q.Job)
		case err != nil: // the registry has the newest rows
			unread = append(unread, err.Error())
		}
		e.Unread = unread
		for i := range rows {
			f.rows[rows[i].Item] = append(f.rows[rows[i].Item], rows[i])
		}
	}
	if f.job.Paused || slices.ContainsFunc(f.items, func(it ItemReport) bool { return it.Disabled }) {
		f.audit, err = o.Audit(ctx, AuditFilter{Job: q.Job, Verb: "job"})
	}
	return err
}

// halfOf returns a context that ends when half of the time of ctx is over, if ctx has a deadline.
func halfOf(ctx context.Context) (context.Context, context.CancelFunc) {
	at, ok := ctx.Deadline()
	if !ok {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, time.Until(at)/2)
}

// facts is what an explanation is made from.
type facts struct {
	now   time.Time
	job   *JobReport
	items []ItemReport        // by number
	rows  map[int][]trace.Row // by item
	audit []AuditRow          // what operators did to the job, the newest first

	excepted bool          // the schedule lacks the instant only because of its day
	awaits   reason.Reason // why a predecessor has not ended well at the instant; none if all have, or there is none
}

// plan adds the instants of the schedule to an explanation.
func (f *facts) plan(e *Explanation) {
	c := f.job.Config
	if c == nil || c.Cron == "" {
		return
	}
	s, err := schedule.Of(*c)
	if err != nil {
		return // the faults of the job say so
	}
	newest := func(upTo time.Time) time.Time { // zero: there is none
		for _, at := range schedule.Newest(s, time.Unix(0, 0), upTo, 1) {
			return at
		}
		return time.Time{}
	}
	if e.At.IsZero() {
		if e.At = newest(f.now); e.At.IsZero() {
			e.At = s.Next(f.now)
		}
	}
	if e.At.IsZero() { // the schedule has no instant at all
		return
	}
	upTo := e.At.Add(-time.Nanosecond)
	if far := f.now.Add(farAhead); upTo.After(far) {
		upTo = far // the search goes back from here, and only for some centuries
	}
	e.Before = newest(upTo)
	e.After = s.Next(e.At)
	f.excepted = schedule.Excepted(s, e.At)
	e.Due = s.Next(e.At.Add(-time.Nanosecond)).Equal(e.At)
}

// explain decides on one item: by its open or pending run for the instant, then by its row,
// then by what keeps it from beginning.
func (f *facts) explain(e *Explanation, item int) Explained {
	x := Explained{Item: item}
	var it *ItemReport
	if i, ok := slices.BinarySearchFunc(f.items, item, func(r ItemReport, n int) int { return r.Item - n }); ok {
		it = &f.items[i]
	}
	row := f.row(e.At, item)
	if row != nil {
		x.ofRow(row)
	}
	unended := it != nil && !e.At.IsZero() && it.Run.Instant.Equal(e.At) // the item's open or pending run is for e.At
	switch {
	case unended && it.Runner != "":
		return Explained{Item: item, Verdict: RunsNow, Server: it.Runner, Since: it.Run.Begun, Cause: trace.Cause(it.Run.Cause), Attempt: it.Run.Attempt, Param: it.Run.Param}
	case unended && it.Pending:
		return Explained{Item: item, Verdict: Waits, Why: reason.Of(reason.TakeoverAwaited), Server: it.Owner, Cause: trace.Cause(it.Run.Cause), Attempt: it.Run.Attempt, Param: it.Run.Param}
	case row != nil && row.State == trace.Retried && it != nil && !it.Retry.IsZero():
		x.Verdict, x.Until = Waits, it.Retry
	case row != nil: // x has what it says
	case !e.Unreadable.None():
		x.Verdict, x.Why = NotBegun, e.Unreadable
	case !e.Due:
		x.Verdict, x.Why = NotDue, f.awaits
		if f.excepted {
			x.Why = reason.Of(reason.DayExcepted)
		}
	case e.At.After(f.now):
		x.Verdict = NotYet
	case it != nil && !it.Accounted.Before(e.At): // it began or has a row that was not read
		x.Verdict, x.Server = NoRow, it.Owner
	default:
		x.Verdict = NotBegun
		f.obstacle(e.At, it, &x)
	}
	return x
}

// row returns the row of the item's newest attempt for an instant or, if there is no attempt, of the gap that
// contains the instant; nil: there is none.
func (f *facts) row(at time.Time, item int) *trace.Row {
	ms := at.UnixMilli()
	var best *trace.Row
	for i := range f.rows[item] {
		r := &f.rows[item][i]
		if at.IsZero() || r.Instant != ms && (r.Count == 0 || ms < r.Instant || ms > r.Last) {
			continue
		}
		if best == nil || r.Attempt > best.Attempt {
			best = r
		}
	}
	return best
}

// ofRow explains an item by its row: of an attempt, of a gap, or of an instant that began nothing.
func (x *Explained) ofRow(r *trace.Row) {
	x.Verdict, x.Why, x.Server = Ran, r.Reason, job.InstanceID(r.Instance)
	x.State, x.Cause, x.Attempt, x.Run, x.Param = r.State, r.Cause, r.Attempt, r.Run, r.Param
	x.Since, x.Until = moment(r.Start), moment(r.End)
	if r.Count > 0 || r.State == trace.Missed || r.State == trace.Skipped && r.Start == 0 { // no guest has started
		x.Verdict, x.Since, x.Until = DidNotRun, moment(r.Instant), moment(r.Last)
	}
}

// obstacle says what keeps an item from beginning now, or kept it when the instant at came. The first
// reason that applies counts. it is nil if the registry does not have the item yet.
func (f *facts) obstacle(at time.Time, it *ItemReport, x *Explained) {
	j := f.job
	switch {
	case j.Config == nil && len(j.Faults) > 0:
		x.Why = j.Faults[0]
	case len(j.Members) == 0:
		x.Why = reason.Of(reason.NoServer)
	case j.Paused && !at.Before(j.Pause.Since):
		p := j.Pause
		x.Why, x.Since, x.Until = p.reason(), p.Since, p.Until
		if p.Since.IsZero() { // a release that did not write it
			x.Since = f.since("job pause", "")
		}
	case j.EndedPause.Has(at):
		p := j.EndedPause
		x.Why, x.Since, x.Until = p.reason(), p.Since, p.Until
	case it == nil:
		x.Why = reason.Of(reason.ReshardAwaited)
	case it.Disabled:
		x.Why, x.Since = reason.Of(reason.ItemDisabled), f.since("job disable", "item="+strconv.Itoa(it.Item))
	case it.Runner != "" && !it.Run.Begun.After(at): // it ran already when the instant came
		x.Why, x.Server, x.Since = reason.Of(reason.StillRunning), it.Runner, it.Run.Begun
	case it.Pending:
		x.Why, x.Server = reason.Of(reason.TakeoverAwaited), it.Owner
	case !slices.ContainsFunc(j.Members, func(m MemberReport) bool { return !m.Disabled }): // all are disabled
		x.disabled(j.drainAt(cmp.Or(it.Owner, j.Members[0].ID).IP()))
	case j.Resharding || it.Owner == "":
		x.Why = reason.Of(reason.ReshardAwaited)
	case slices.ContainsFunc(j.Members, func(m MemberReport) bool { return m.ID == it.Owner && m.Disabled }):
		x.Server = it.Owner
		x.disabled(j.drainAt(it.Owner.IP()))
	case len(j.Faults)+len(j.Blockers) > 0:
		x.Why = slices.Concat(j.Faults, j.Blockers)[0]
	default:
		x.Why, x.Server = reason.Of(reason.NotBegun), it.Owner
	}
}

// disabled explains an item by a disabled server, or by its drain d if d is not nil.
func (x *Explained) disabled(d *Drain) {
	x.Why = reason.Of(reason.ServerDisabled)
	if d != nil {
		x.Why, x.Since = d.reason(), d.Since
	}
}

// since returns when an operator last made a request, by its verb and detail; zero if the audit
// has none. The newest row is the first.
func (f *facts) since(verb, detail string) time.Time {
	for _, d := range f.audit {
		if d.Verb == verb && d.Detail == detail {
			return d.At
		}
	}
	return time.Time{}
}
