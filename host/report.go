package host

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/wasmjob/wasmjob/host/internal/layout"
	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/internal/schedule"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/reason"
	"github.com/wasmjob/wasmjob/host/registry"
)

// JobReport is what the registry tells of a job at one moment.
type JobReport struct {
	Name string `json:"job"`
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
	Owner    job.InstanceID `json:"owner,omitempty"` // "" while nobody has it
	Disabled bool           `json:"disabled"`
	Misfired bool           `json:"misfired"`          // an instant came while it ran; it will be made good
	Pending  bool           `json:"pending"`           // an interrupted run waits for a server
	Retry    time.Time      `json:"retry,omitzero"`    // not before this its failed run is tried again; zero: none waits
	Runner   job.InstanceID `json:"runs_on,omitempty"` // who runs it; "" if nobody does, as far as is known
	Run      RunReport      `json:"run,omitzero"`      // the open run, or the one that is pending
	Last     time.Time      `json:"last,omitzero"`     // the newest instant that began or has a row; zero: none
	// LastBegin is when the newest run began, LastEnd when one ended last; zero if
	// that is not known. In jobs of thousands of items they may be rounded down.
	LastBegin time.Time `json:"last_begin,omitzero"`
	LastEnd   time.Time `json:"last_end,omitzero"`
}

// RunReport is a run that has not ended.
type RunReport struct {
	Instant time.Time `json:"instant,omitzero"` // what it is for; of a trigger: when it was accepted
	Begun   time.Time `json:"begun,omitzero"`   // zero: not known
	Cause   string    `json:"cause"`
	Attempt int       `json:"attempt"`
}

// State is a word for how the job is: unreadable, paused, down (no server),
// disabled (every server is), resharding, running or idle.
func (r *JobReport) State() string {
	disabled := len(r.Members) > 0
	for _, m := range r.Members {
		disabled = disabled && m.Disabled
	}
	switch {
	case r.Config == nil:
		return "unreadable"
	case len(r.Members) == 0:
		return "down"
	case r.Paused:
		return "paused"
	case disabled:
		return "disabled"
	case r.Running > 0:
		return "running"
	case r.Resharding:
		return "resharding"
	}
	return "idle"
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
	reports := make([]*JobReport, len(names))
	jobs, within := errgroup.WithContext(ctx)
	jobs.SetLimit(readsAtOnce)
	for i, name := range names {
		jobs.Go(func() error {
			l := layout.NewJob(o.namespace, name)
			v, err := o.gather(within, l, layout.Outline(), false)
			switch {
			case errors.Is(err, registry.ErrDenied): // the others may be read
				reports[i] = &JobReport{Name: name, Faults: []reason.Reason{denied(err)}}
				return nil
			case err != nil:
				return unread(err, "look at job %s", name)
			}
			if isJob(v) {
				reports[i] = o.report(name, v)
			}
			return nil
		})
	}
	if err := jobs.Wait(); err != nil {
		return nil, err //nolint:wrapcheck // those that were given to it are ours
	}
	var all []JobReport
	for _, r := range reports {
		if r != nil {
			all = append(all, *r)
		}
	}
	return all, nil
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
	r := &JobReport{Name: name, Leader: v.Leader, Paused: v.Paused, Resharding: v.Necessary || v.Processing}
	if v.Config != nil && v.ConfigFault == "" {
		r.Config = configOf(name, v)
	}
	for _, s := range v.Servers {
		r.Servers = append(r.Servers, ServerState{s.IP, s.Disabled})
	}
	for _, in := range v.Instances {
		r.Members = append(r.Members, memberReport(v, in))
	}
	for i := range v.Runs {
		r.Running += len(v.Runs[i].Open)
	}
	blockers, faults := o.hindrances(name, v)
	r.Faults, r.Blockers, r.Modules = append(faultsOf(v), faults...), blockers, modulesOf(v)
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

// configOf is the configuration that the registry has; nil if it cannot be read.
func configOf(name string, v *protocol.View) *job.Config {
	c, err := layout.DecodeConfig21(v.ConfigData)
	if err != nil || c == nil {
		return nil
	}
	if m, err := layout.DecodeModule(v.Module); v.Dirs.Module && err == nil {
		d := layout.Definition{Config: *c, Module: m}
		j := d.Job(job.Config{})
		j.TimeZone = cmp.Or(j.TimeZone, "UTC") // members of ours agree on it
		return &j
	}
	j := c.Apply(job.Config{Name: name})
	return &j
}

func memberReport(v *protocol.View, in protocol.Instance) MemberReport {
	m := MemberReport{ID: in.ID, Foreign: true, Disabled: v.ServerDisabled(in.ID), Asked: in.Triggered}
	for _, ours := range v.Members {
		if ours.ID == in.ID {
			m.Foreign, m.Labels = false, ours.Labels
		}
	}
	for _, owner := range v.Assignment.Owners {
		if owner == in.ID {
			m.Items++
		}
	}
	if !v.Assignment.Exists { // a job that members of ElasticJob alone run
		for i := range v.Items {
			if v.Items[i].Owner == in.ID {
				m.Items++
			}
		}
	}
	for i := range v.Runs {
		if r := &v.Runs[i]; r.ID == in.ID {
			m.Running = len(r.Open)
		}
	}
	return m
}

// faultsOf says what an operator should know.
func faultsOf(v *protocol.View) []reason.Reason {
	faults := slices.Clone(v.Faults)
	add := func(c reason.Code, args ...string) { faults = append(faults, reason.Of(c, args...)) }
	if v.Config == nil && v.ConfigFault == "" {
		add(reason.ConfigGone)
	}
	if len(v.Instances) == 0 {
		add(reason.NoServer)
	} else if v.Leader == "" && !allDisabled(v) { // a server that is disabled does not lead
		add(reason.NobodyLeads)
	}
	for i := range v.Runs {
		id := v.Runs[i].ID
		alive := slices.ContainsFunc(v.Instances, func(in protocol.Instance) bool { return in.ID == id }) ||
			slices.ContainsFunc(v.Members, func(m protocol.Member) bool { return m.ID == id })
		if !alive {
			add(reason.NotTakenOver, string(id))
		}
	}
	return faults
}

// allDisabled: an operator disabled every server that runs the job.
func allDisabled(v *protocol.View) bool {
	return !slices.ContainsFunc(v.Instances, func(in protocol.Instance) bool { return !v.ServerDisabled(in.ID) })
}

// itemReports tells of each item. Of one that is gone, what is not ours may keep
// the node.
func itemReports(v *protocol.View) []ItemReport {
	total, past := 0, v.Past()
	if v.Config != nil {
		total = v.Config.Total
	}
	var items []ItemReport
	at := map[int]*ItemReport{} // into items, when it is complete
	for i, it := range v.Items {
		if !it.Exists || i >= total && it.Owner == "" {
			continue
		}
		r := ItemReport{
			Item: i, Owner: it.Owner, Disabled: it.Disabled, Misfired: it.Misfire, Runner: it.Failover,
			LastBegin: moment(nth(past.Begun, i)), LastEnd: moment(nth(past.Ended, i)),
		}
		if r.Runner == "" && (it.Running != 0 || it.RunningP) {
			r.Runner = it.Owner
		}
		last := nth(v.Assignment.Last, i)
		for k := range v.Runs {
			last = max(last, nth(v.Runs[k].Last, i))
		}
		r.Last = moment(last)
		items = append(items, r)
	}
	for k := range items {
		at[items[k].Item] = &items[k]
	}
	for k := range v.Runs {
		for _, e := range v.Runs[k].Open {
			if r := at[e.Item]; r != nil {
				r.Runner, r.Run = v.Runs[k].ID, runReport(e)
			}
		}
		for _, e := range v.Runs[k].Retries {
			if r := at[e.Item]; r != nil {
				r.Retry = moment(e.After)
			}
		}
	}
	for k := range v.Pending {
		if r := at[v.Pending[k].Item]; r != nil {
			r.Pending, r.Run = true, runReport(v.Pending[k].Entry)
		}
	}
	return items
}

func nth(s []int64, i int) int64 {
	if i < len(s) {
		return s[i]
	}
	return 0
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
