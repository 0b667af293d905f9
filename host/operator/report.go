package operator

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/wasmjob/wasmjob/host/internal/definition"
	"github.com/wasmjob/wasmjob/host/internal/layout"
	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/internal/schedule"
	"github.com/wasmjob/wasmjob/host/internal/status"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/reason"
	"github.com/wasmjob/wasmjob/host/registry"
)

// JobReport is what the registry tells of a job at one moment.
type JobReport struct {
	Name string `json:"job"`
	// State is the first that applies: unreadable, down (no server), paused, disabled
	// (every server is), running, resharding or idle.
	State string `json:"state"`
	// Config is what the registry has of the job's configuration; nil if there is
	// none that can be read, and Faults says why.
	Config *job.Config `json:"-"`
	// Faults are what is wrong with the job, as far as the registry shows it.
	Faults []reason.Reason `json:"faults"`
	// Blockers are why servers of ours do not run it.
	Blockers []reason.Reason `json:"blockers"`

	Leader     job.InstanceID `json:"leader,omitempty"` // "" if nobody leads
	Paused     bool           `json:"paused"`
	Resharding bool           `json:"resharding"` // the items are to be handed out anew
	Members    []MemberReport `json:"members"`
	Servers    []ServerState  `json:"servers"`         // ascending by address
	Running    int            `json:"running"`         // items with an open run
	Items      []ItemReport   `json:"items,omitempty"` // by number; none in a list of jobs
	Modules    ModulesReport  `json:"modules"`
	Latest     LatestReport   `json:"latest,omitzero"`
}

// MemberReport is one server as a part of a job.
type MemberReport struct {
	ID       job.InstanceID    `json:"instance"`
	Foreign  bool              `json:"foreign"` // of ElasticJob
	Labels   map[string]string `json:"labels,omitempty"`
	Disabled bool              `json:"disabled"`  // its server, by an operator
	Asked    bool              `json:"triggered"` // a trigger waits for it
	Items    int               `json:"items"`     // that it owns
	Running  int               `json:"running"`
}

// ServerState is an operator's word about the servers at one address.
type ServerState struct {
	IP       string `json:"server"`
	Disabled bool   `json:"disabled"`
}

// ServerReport is what the jobs of a namespace have on one address.
type ServerReport struct {
	IP       string `json:"server"`
	Members  int    `json:"jobs"`          // jobs that a server there is a part of now
	Disabled int    `json:"disabled_jobs"` // jobs for which an operator disabled it
	Leads    int    `json:"leads"`         // jobs
	Items    int    `json:"items"`         // that it owns
	Running  int    `json:"running"`
}

// ServersOf turns reports on jobs into one on servers, ascending by address.
func ServersOf(jobs []JobReport) []ServerReport {
	found := map[string]*ServerReport{}
	at := func(ip string) *ServerReport {
		if found[ip] == nil {
			found[ip] = &ServerReport{IP: ip}
		}
		return found[ip]
	}
	for i := range jobs {
		j := &jobs[i]
		for _, s := range j.Servers {
			if r := at(s.IP); s.Disabled {
				r.Disabled++
			}
		}
		for _, m := range j.Members {
			r := at(m.ID.IP())
			r.Members++
			r.Items += m.Items
			r.Running += m.Running
			if m.ID == j.Leader {
				r.Leads++
			}
		}
	}
	var all []ServerReport
	for _, ip := range slices.Sorted(maps.Keys(found)) {
		all = append(all, *found[ip])
	}
	return all
}

// ItemReport is one item.
type ItemReport struct {
	Item     int            `json:"item"`
	State    string         `json:"state"`           // the first that applies: running, pending, disabled, unassigned or idle
	Owner    job.InstanceID `json:"owner,omitempty"` // "" while nobody has it
	Disabled bool           `json:"disabled"`
	Misfired bool           `json:"misfired"`          // an instant came while it ran; it will be made good
	Pending  bool           `json:"pending"`           // an interrupted run waits for a server
	Retry    time.Time      `json:"retry,omitzero"`    // not before this its failed run is tried again; zero: none waits
	Runner   job.InstanceID `json:"runs_on,omitempty"` // who runs it; "" if nobody does, as far as is known
	Run      RunReport      `json:"run,omitzero"`      // the open run, or the one that is pending
	Last     time.Time      `json:"last,omitzero"`     // the newest instant that began or has a row; zero: none, or a manual job
	// LastBegin is when the newest run began, LastEnd when one ended last; zero if
	// that is not known. In jobs of thousands of items they may be rounded down.
	LastBegin time.Time `json:"last_begin,omitzero"`
	LastEnd   time.Time `json:"last_end,omitzero"`
}

// LatestReport is how the newest runs of a job ended, whoever ran them.
type LatestReport struct {
	State string    `json:"state"`
	Ended time.Time `json:"ended"`
	// Failures are those of one item in a row, the most that one has.
	Failures int `json:"failures_in_a_row"`
	Item     int `json:"failing_item"` // whose they are
}

// RunReport is a run that has not ended.
type RunReport struct {
	Instant time.Time `json:"instant,omitzero"` // what it is for; of a trigger: when it was accepted
	Begun   time.Time `json:"begun,omitzero"`   // zero: not known
	Cause   string    `json:"cause"`
	Attempt int       `json:"attempt"`
}

// Jobs reports on every job of the namespace, without its items, ascending by
// name; of one that may not be read it says so. What changes while it reads may be told half old and half new.
// A namespace that is not there is an error.
func (o *Operator) Jobs(ctx context.Context) ([]JobReport, error) {
	names, err := o.Names(ctx)
	if err == nil && len(names) == 0 {
		err = o.Namespace(ctx)
	}
	if err != nil {
		return nil, err
	}
	all, err := o.outlines(ctx, names, false)
	var reports []JobReport
	for _, of := range all {
		reports = append(reports, *of.report)
	}
	return reports, err
}

// outline is a job without its items, and the rows that the registry has of it.
type outline struct {
	report *JobReport
	kept   []KeptRow
}

// outlines looks at jobs, with their rows if they are wanted, and leaves out those that
// are none.
func (o *Operator) outlines(ctx context.Context, names []string, rows bool) ([]outline, error) {
	all := make([]outline, len(names))
	jobs, within := errgroup.WithContext(ctx)
	jobs.SetLimit(readsAtOnce)
	for i, name := range names {
		jobs.Go(func() error {
			l := layout.NewJob(o.namespace, name)
			v, err := o.gather(within, l, l.Outline(), false, readsEach(len(names)))
			switch {
			case errors.Is(err, registry.ErrDenied): // the others may be read
				all[i].report = &JobReport{Name: name, State: status.Unreadable, Faults: []reason.Reason{denied(err)}}
				return nil
			case err != nil:
				return unread(err, "look at job %s", name)
			}
			if isJob(v) {
				all[i].report = o.report(name, v)
			}
			if rows {
				all[i].kept = keptRows(l, name, v)
			}
			return nil
		})
	}
	if err := jobs.Wait(); err != nil {
		return nil, err //nolint:wrapcheck // those that were given to it are ours
	}
	return slices.DeleteFunc(all, func(of outline) bool { return of.report == nil }), nil
}

// denied is what is wrong with a job that may not be read.
func denied(err error) reason.Reason {
	return reason.Of(reason.JobDenied, err.Error())
}

// Job reports on one job, as it was at one moment.
func (o *Operator) Job(ctx context.Context, name string) (*JobReport, error) {
	v, _, err := o.whole(ctx, name)
	if err != nil {
		return nil, err
	}
	r := o.report(name, v)
	r.Items = itemReports(v)
	return r, nil
}

func (o *Operator) report(name string, v *protocol.View) *JobReport {
	now := status.Of(v)
	config, module := layout.NewJob(o.namespace, name).Defined(v)
	r := &JobReport{Name: name, State: now.State, Leader: now.Leader, Paused: now.Paused, Resharding: now.Resharding, Running: now.Running}
	r.Config = definition.JobOf(name, config, module)
	for _, s := range v.Servers {
		r.Servers = append(r.Servers, ServerState{s.IP, s.Disabled})
	}
	for _, m := range now.Members {
		r.Members = append(r.Members, MemberReport(m))
	}
	if run, streak := v.LatestRun(); run.At != 0 {
		r.Latest = LatestReport{State: string(run.State), Ended: moment(run.At), Failures: streak.Failures, Item: streak.Item}
	}
	blockers, faults := o.blockers(name, v, config, module)
	r.Faults, r.Blockers, r.Modules = append(now.Faults, faults...), blockers, modulesOf(v, module)
	if r.Config != nil {
		if why := over(*r.Config); !why.None() {
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

// over tells that a job fires no more; none if it does.
func over(c job.Config) reason.Reason {
	s, err := schedule.Compile(c.Cron, c.Dialect, c.TimeZone)
	if c.Cron == "" || err != nil || !schedule.Over(s, time.Now()) {
		return reason.Reason{}
	}
	return reason.Of(reason.ScheduleOver, strconv.Quote(c.Cron))
}

func itemReports(v *protocol.View) []ItemReport {
	var items []ItemReport
	for _, it := range status.Items(v) {
		items = append(items, ItemReport{
			Item: it.Item, State: it.State, Owner: it.Owner, Disabled: it.Disabled, Misfired: it.Misfired, Pending: it.Pending,
			Retry: moment(it.Retry), Runner: it.Runner, Run: runReport(it.Run), Last: moment(it.Last),
			LastBegin: moment(it.LastBegin), LastEnd: moment(it.LastEnd),
		})
	}
	return items
}

func runReport(e protocol.Entry) RunReport {
	return RunReport{Instant: moment(e.Instant), Begun: moment(e.Begun), Cause: string(e.Cause), Attempt: e.Attempt}
}

// moment is a time of the registry, in milliseconds; 0 is none.
func moment(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms)
}
