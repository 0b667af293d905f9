package operator

import (
	"context"
	"errors"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/wasmjob/wasmjob/host/internal/definition"
	"github.com/wasmjob/wasmjob/host/internal/follow"
	"github.com/wasmjob/wasmjob/host/internal/layout"
	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/internal/status"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/reason"
	"github.com/wasmjob/wasmjob/host/registry"
)

// JobReport is what the registry shows of a job at one moment.
type JobReport struct {
	Name string `json:"job"`
	// State is the first that applies: unreadable, down (no server), paused, disabled
	// (every server is), running, resharding or idle.
	State string `json:"state"`
	// Edition identifies what operators and files have decided about the job; nothing else
	// changes it. In a list of jobs it is empty.
	Edition string `json:"edition,omitempty"`
	// Config is the job's configuration in the registry; nil if it is missing or
	// unreadable, and Faults says why.
	Config *job.Config `json:"-"`
	// Faults are the problems of the job that the registry shows.
	Faults []reason.Reason `json:"faults"`
	// Blockers are the reasons why servers of ours do not run it.
	Blockers []reason.Reason `json:"blockers"`

	Leader job.InstanceID `json:"leader,omitempty"` // "": no leader
	Paused bool           `json:"paused"`
	Pause  PauseReport    `json:"pause,omitzero"`
	// EndedPause is the newest pause if it has expired and no operator has resumed the job since.
	EndedPause PauseReport    `json:"ended_pause,omitzero"`
	Resharding bool           `json:"resharding"` // a reshard is pending
	Members    []MemberReport `json:"members"`
	// Leaving are members that were shut down and still have open runs.
	Leaving []MemberReport `json:"leaving,omitempty"`
	Servers []ServerState  `json:"servers"`         // ascending by address
	Running int            `json:"running"`         // items with an open run
	Items   []ItemReport   `json:"items,omitempty"` // by number; none in a list of jobs
	Modules ModulesReport  `json:"modules"`
	Latest  LatestReport   `json:"latest,omitzero"`
}

// MemberReport is a member of a job.
type MemberReport struct {
	ID       job.InstanceID    `json:"instance"`
	Foreign  bool              `json:"foreign"` // of ElasticJob
	Labels   map[string]string `json:"labels,omitempty"`
	Disabled bool              `json:"disabled"`  // an operator disabled its server
	Asked    bool              `json:"triggered"` // it has not acted on a trigger yet
	Items    int               `json:"items"`     // items that it owns
	Running  int               `json:"running"`
}

// ServerState says whether an operator has disabled the servers at one address.
type ServerState struct {
	IP       string `json:"server"`
	Disabled bool   `json:"disabled"`
	Drain    *Drain `json:"drain,omitempty"` // that has disabled it; nil: none
}

// ItemReport is one item.
type ItemReport struct {
	Item     int            `json:"item"`
	State    string         `json:"state"`           // the first that applies: running, pending, disabled, unassigned or idle
	Owner    job.InstanceID `json:"owner,omitempty"` // "": unassigned
	Disabled bool           `json:"disabled"`
	Misfired bool           `json:"misfired"`           // an instant came while it ran; the item runs once more for it
	Pending  bool           `json:"pending"`            // a pending run waits for a member
	Retry    time.Time      `json:"retry,omitzero"`     // earliest time of the next attempt of a failed run; zero: no retry
	Waits    []string       `json:"waits,omitempty"`    // requests with a run that waits to begin, or for its next attempt
	Backfill int            `json:"backfill,omitempty"` // instants that wait for a backfill
	Runner   job.InstanceID `json:"runs_on,omitempty"`  // the member that runs it; "": none is known
	Run      RunReport      `json:"run,omitzero"`       // the open or pending run
	Last     time.Time      `json:"last,omitzero"`      // the newest instant that began or has a row; zero: none, or a manual job
	// Accounted is Last, or before an item has had an instant, the moment from which its instants
	// count; zero: the item is not assigned yet, or the job is a manual one.
	Accounted time.Time `json:"accounted,omitzero"`
	// LastBegin is when the newest run began, LastEnd when the last one ended; zero if
	// not known. Jobs of thousands of items may round them down.
	LastBegin time.Time `json:"last_begin,omitzero"`
	LastEnd   time.Time `json:"last_end,omitzero"`
	// Failures is how often it failed in a row. A server counts the failures of at most 64
	// items.
	Failures int `json:"failures_in_a_row,omitempty"`
}

// LatestReport is how the newest runs of a job ended, on any member.
type LatestReport struct {
	State string    `json:"state"`
	Ended time.Time `json:"ended"`
	// Failures is the longest current streak of an item, which is Item.
	Failures int `json:"failures_in_a_row"`
	Item     int `json:"failing_item"`
}

// RunReport is a run that has not ended.
type RunReport struct {
	Instant time.Time `json:"instant,omitzero"` // the instant that it runs for; for a trigger, when it was accepted
	Begun   time.Time `json:"begun,omitzero"`   // zero: not known
	Cause   string    `json:"cause"`
	Attempt int       `json:"attempt"`
	Request string    `json:"request,omitempty"` // id of the operator's request; "": it is scheduled
	Param   string    `json:"param,omitempty"`   // that replaces the job's
}

// Jobs reports on every job of the namespace, sorted by name, but not on items. A job that this
// user of the registry may not read has the state unreadable. A report may mix values from before
// and after a change that happens while it is read. A missing namespace is an error.
func (o *Operator) Jobs(ctx context.Context) ([]JobReport, error) {
	names, err := o.Names(ctx)
	if err == nil && len(names) == 0 {
		err = o.Namespace(ctx)
	}
	if err != nil {
		return nil, err
	}
	all, err := o.outlines(ctx, names, false)
	if err != nil {
		return nil, err
	}
	var reports []JobReport
	for _, of := range all {
		reports = append(reports, *of.report)
	}
	return reports, o.addDrains(ctx, reports)
}

// outline is the report on a job without its items, and the job's rows in the registry.
type outline struct {
	report *JobReport
	kept   []KeptRow
}

// outlines reads jobs, with their rows if rows is set. It leaves out nodes that are no jobs. It takes a report
// from the roster, if there is one, unless that lacks what the caller wants.
func (o *Operator) outlines(ctx context.Context, names []string, rows bool) ([]outline, error) {
	all := make([]outline, len(names))
	kept := o.roster
	if rows { // cached reports have none
		kept = nil
	}
	if kept != nil {
		if err := kept.follow(ctx, o.session); err != nil {
			return nil, err
		}
	}
	jobs, within := errgroup.WithContext(ctx)
	jobs.SetLimit(readsAtOnce)
	for i, name := range names {
		var reading *known // the place of the report in the cache
		if kept != nil {
			if all[i].report, reading = kept.look(name, o.files[name]); all[i].report != nil {
				continue
			}
		}
		jobs.Go(func() error {
			v, l, err := o.readOutline(within, name, readsEach(len(names)))
			switch {
			case errors.Is(err, registry.ErrDenied): // go on, other jobs may be readable
				all[i].report = &JobReport{Name: name, State: status.Unreadable, Faults: []reason.Reason{denied(err)}}
				return nil
			case err != nil:
				return readError(err, "look at job %s", name)
			}
			if isJob(v) {
				all[i].report = o.report(l, name, v)
			}
			if kept != nil {
				kept.keep(name, reading, all[i].report)
			}
			if rows {
				all[i].kept = keptRows(l, name, v)
			}
			return nil
		})
	}
	if err := jobs.Wait(); err != nil {
		return nil, err //nolint:wrapcheck // its functions return our errors
	}
	return slices.DeleteFunc(all, func(of outline) bool { return of.report == nil }), nil
}

// watch returns a Watch of nodes of a job, and a map that collects the nodes it reads, by path.
func (o *Operator) watch(ctx context.Context, l layout.Layout, nodes []string, atOnce int) (w *follow.Watch, known map[string]registry.Node) {
	w, known = follow.NewWatch(l, nodes), map[string]registry.Node{}
	w.Read = func(paths []string) ([]registry.Node, error) {
		read, err := o.readAll(ctx, paths, atOnce)
		for i, n := range read {
			known[paths[i]] = n
		}
		return read, err
	}
	return w, known
}

// readOutline reads the outline of a job. If its nodes show another layout than the one by
// which they were read, it reads them again.
func (o *Operator) readOutline(ctx context.Context, name string, atOnce int) (*protocol.View, layout.Layout, error) {
	l := layout.NewJob(o.namespace, name)
	for {
		w, known := o.watch(ctx, l, l.Outline(), atOnce)
		v, err := w.View()
		if err != nil {
			return nil, nil, err
		}
		found, err := layout.Found(o.namespace, name, fromMemory(known))
		if err != nil || found == l {
			return v, l, err
		}
		l = found
	}
}

// fromMemory returns a function that reads nodes by path from known. Any other node counts as missing.
func fromMemory(known map[string]registry.Node) func(paths []string) ([]registry.Node, error) {
	return func(paths []string) (nodes []registry.Node, err error) {
		for _, path := range paths {
			nodes = append(nodes, known[path])
		}
		return nodes, nil
	}
}

// denied is the fault of a job that this user of the registry may not read.
func denied(err error) reason.Reason {
	return reason.Of(reason.JobDenied, err.Error())
}

// Job reports on one job as it is at one moment, with its items.
func (o *Operator) Job(ctx context.Context, name string) (*JobReport, error) {
	v, l, err := o.jobView(ctx, name)
	if err != nil {
		return nil, err
	}
	return o.wholeReport(ctx, l, name, v)
}

// wholeReport is a report with all that Job says, also of what is outside the view: drains, and jobs after which
// the job runs.
func (o *Operator) wholeReport(ctx context.Context, l layout.Layout, name string, v *protocol.View) (*JobReport, error) {
	r := o.report(l, name, v)
	r.Items, r.Edition = itemReports(v), editionOf(v)
	_, wrong, err := o.predecessors(ctx, r)
	if err != nil {
		return nil, err
	}
	r.Faults = append(r.Faults, wrong...)
	one := []JobReport{*r}
	return &one[0], o.addDrains(ctx, one)
}

// report describes a job as a view shows it, without its items and its edition.
func (o *Operator) report(l layout.Layout, name string, v *protocol.View) *JobReport {
	now := status.Of(v, time.Now().UnixMilli())
	config, module := l.Defined(v)
	r := &JobReport{Name: name, State: now.State, Leader: shown(v, now.Leader), Paused: now.Paused, Resharding: now.Resharding, Running: now.Running}
	switch {
	case now.Paused:
		r.Pause = pauseReport(v.Pause)
	case v.Paused: // it has expired
		r.EndedPause = pauseReport(v.Pause)
	}
	r.Config = definition.JobOf(name, config, module)
	for _, s := range v.Servers {
		r.Servers = append(r.Servers, ServerState{IP: s.IP, Disabled: s.Disabled})
	}
	for _, m := range now.Members {
		m.ID = shown(v, m.ID)
		r.Members = append(r.Members, MemberReport(m))
	}
	for _, m := range now.Leaving {
		r.Leaving = append(r.Leaving, MemberReport(m))
	}
	if run, streak := v.LatestRun(); run.At != 0 {
		r.Latest = LatestReport{State: string(run.State), Ended: moment(run.At), Failures: streak.Failures, Item: streak.Item}
	}
	blockers, faults := o.blockers(l, name, v, config, module)
	r.Faults, r.Blockers, r.Modules = append(now.Faults, faults...), blockers, modulesOf(v, module)
	if r.Config != nil {
		if why := scheduleOver(*r.Config); !why.None() {
			r.Faults = append(r.Faults, why)
		}
	}
	for _, w := range r.Modules.Waits {
		if w.Fault != "" {
			r.Faults = append(r.Faults, reason.Of(reason.NextModuleRefused, string(w.ID), w.Fault))
		}
	}
	return r
}

// failuresOf returns how often an item failed in a row. Several records can have a streak of the item, and the
// assignment one of members that are gone; the newest counts.
func failuresOf(v *protocol.View, item int) int {
	var newest protocol.Streak
	in := func(all []protocol.Streak) {
		for _, s := range all {
			if s.Item == item && s.At > newest.At {
				newest = s
			}
		}
	}
	in(v.Assignment.Streaks)
	for k := range v.Runs {
		in(v.Runs[k].Streaks)
	}
	return newest.Failures
}

// itemReports reports on the items that the registry has of a job, by number.
func itemReports(v *protocol.View) []ItemReport {
	var items []ItemReport
	for _, it := range status.Items(v) {
		items = append(items, ItemReport{
			Item: it.Item, State: it.State, Owner: shown(v, it.Owner), Disabled: it.Disabled, Misfired: it.Misfired, Pending: it.Pending,
			Retry: moment(it.Retry), Waits: it.Waits, Runner: it.Runner, Run: runReport(it.Run), Last: instantOf(it.Last), Accounted: moment(it.Last),
			LastBegin: moment(it.LastBegin), LastEnd: moment(it.LastEnd), Failures: failuresOf(v, it.Item), Backfill: v.Backfilled(it.Item),
		})
	}
	return items
}

// runReport describes an open or pending run.
func runReport(e protocol.Entry) RunReport {
	instant, _ := e.RunsFor()
	return RunReport{Instant: moment(instant), Begun: moment(e.Begun), Cause: string(e.Cause), Attempt: e.Attempt, Request: e.Trigger, Param: e.Param}
}

// instantOf converts an instant of a schedule, which is a whole second. Before an item has had
// one, ms is the moment of its first assignment, which is none; the result is then zero.
func instantOf(ms int64) time.Time {
	if ms%1000 != 0 {
		return time.Time{}
	}
	return moment(ms)
}

// moment converts a time in milliseconds; 0 is the zero time.
func moment(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms)
}
