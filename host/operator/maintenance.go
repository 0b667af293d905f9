package operator

import (
	"context"
	"slices"
	"time"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/internal/layout/clustertree"
	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/registry"
)

// Maintenance is a period in which all alerts are held back and some jobs are paused.
type Maintenance struct {
	By     string    `json:"by,omitempty"`
	Why    string    `json:"why,omitempty"`
	Since  time.Time `json:"since"`
	Until  time.Time `json:"until"`
	Paused []string  `json:"paused"` // jobs, by name; after its end, those that stay paused
	// Resumed are the jobs that its end has resumed.
	Resumed []string `json:"resumed,omitempty"`
	// NotPaused are jobs that should have been paused, but no server of ours has run them or they are
	// gone.
	NotPaused []string `json:"not_paused,omitempty"`
}

// MaintenanceTerms are the parameters of a maintenance.
type MaintenanceTerms struct {
	For  time.Duration
	Why  string
	Jobs []string // to pause
	All  bool     // pause all jobs
}

var (
	verbStart = verb{"pause for a maintenance", "maintenance start"}
	verbEnd   = verb{"resume after a maintenance", "maintenance end"}
)

// Maintenance returns the current maintenance; nil if there is none.
func (o *Operator) Maintenance(ctx context.Context) (*Maintenance, error) {
	const what = "look at the maintenance"
	if err := o.session.Sync(ctx); err != nil {
		return nil, readError(err, "%s", what)
	}
	m, _, err := o.readMaintenance(ctx, what)
	if err != nil || m.Until == 0 {
		return nil, err
	}
	now, err := o.now(ctx)
	if err != nil {
		return nil, readError(err, "%s: ask the registry for its time", what)
	}
	if !now.Before(time.UnixMilli(m.Until)) {
		return nil, nil //nolint:nilnil // there is none
	}
	return maintenanceOf(&m), nil
}

// maintenanceOf converts a maintenance of the registry.
func maintenanceOf(m *clustertree.Maintenance) *Maintenance {
	return &Maintenance{By: m.By, Why: m.Why, Since: time.UnixMilli(m.Since), Until: time.UnixMilli(m.Until), Paused: append([]string{}, m.Paused...)}
}

// StartMaintenance begins a maintenance. If a job has a pause that would end before the maintenance, the pause
// is extended to that end. Other pauses stay as they are. The silence and the pauses of the maintenance expire
// by themselves.
func (o *Operator) StartMaintenance(ctx context.Context, t MaintenanceTerms) (*Maintenance, error) {
	const what = "start a maintenance"
	if t.For < minSilence || t.For > maxSilence {
		return nil, failf(host.Invalid, nil, "%s: it cannot be for %v; write %v to %v", what, t.For, minSilence, maxSilence)
	}
	p, err := o.pauseBy(ctx, what, PauseTerms{Why: t.Why, For: t.For})
	if err != nil {
		return nil, err
	}
	m := clustertree.Maintenance{By: p.By, Why: p.Why, Since: p.Since, Until: p.Until}
	if err := o.choose(ctx, what, t, &m); err != nil {
		return nil, err
	}
	until := time.UnixMilli(m.Until).UTC().Format(time.RFC3339)
	d := deed{verb: verbStart.command, detail: detailOf(p), after: "until " + until}
	err = o.changeMaintenance(ctx, what, d, func(is *clustertree.Maintenance, all *clustertree.Alerts) error {
		ours := string(is.Encode()) == string(m.Encode()) // from a try without an answer
		if is.Until > m.Since && !ours {
			return failf(host.Refused, nil, "%s: there is a maintenance until %s; end it first", what, time.UnixMilli(is.Until).UTC().Format(time.RFC3339))
		}
		*is = m
		if !all.Silence(clustertree.Silence{Until: m.Until, Why: m.Why, By: m.By}, m.Since) {
			return failf(host.Refused, nil, "%s: there are %d silences, which is the limit; end some with alert unsilence", what, clustertree.MaxSilences)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	begun := maintenanceOf(&m)
	begun.Paused = []string{}
	for _, name := range m.Paused {
		err := o.askBy(ctx, request{verb: verbStart, job: name, about: protocol.AskPause{}, wish: func(v *protocol.View) (protocol.Ask, deed, error) {
			a := pauseDuring(&m, p, name, v)
			return a, deedOf(a), nil
		}})
		switch {
		case err == nil:
			begun.Paused = append(begun.Paused, name)
		case isCode(err, host.NotFound) || isCode(err, host.Refused):
			begun.NotPaused = append(begun.NotPaused, name)
		default:
			return nil, failf(host.CodeOf(err), err, "the maintenance has begun, but not all its jobs are paused: end it, and start it again")
		}
	}
	return begun, nil
}

// choose sets in m the jobs that a maintenance pauses, and those of their own pauses that it extends. It leaves
// out jobs whose own pause lasts as long, and those that cannot be read.
func (o *Operator) choose(ctx context.Context, what string, t MaintenanceTerms, m *clustertree.Maintenance) error {
	if !t.All && len(t.Jobs) == 0 {
		return nil
	}
	jobs, err := o.jobsNow(ctx)
	if err != nil {
		return err
	}
	for _, name := range t.Jobs {
		if !slices.ContainsFunc(jobs, func(j JobReport) bool { return j.Name == name }) {
			return o.noJob(ctx, name)
		}
	}
	for i := range jobs {
		j := &jobs[i]
		lasts := j.Paused && (j.Pause.Until.IsZero() || j.Pause.Until.UnixMilli() >= m.Until)
		if j.Config == nil || lasts || !t.All && !slices.Contains(t.Jobs, j.Name) {
			continue
		}
		m.Paused = append(m.Paused, j.Name)
		if j.Paused {
			e := clustertree.Extended{Job: j.Name, Until: j.Pause.Until.UnixMilli()}
			if !j.Pause.Since.IsZero() {
				e.Since = j.Pause.Since.UnixMilli()
			}
			m.Extended = append(m.Extended, e)
		}
	}
	if len(m.Paused) > clustertree.MaxMaintained {
		return failf(host.Invalid, nil, "%s: it would pause %d jobs, and the limit is %d", what, len(m.Paused), clustertree.MaxMaintained)
	}
	return nil
}

// extendedOf returns the job's own pause that a maintenance has extended; nil if there is none.
func extendedOf(m *clustertree.Maintenance, name string) *clustertree.Extended {
	if i := slices.IndexFunc(m.Extended, func(e clustertree.Extended) bool { return e.Job == name }); i >= 0 {
		return &m.Extended[i]
	}
	return nil
}

// pauseDuring is the request that pauses a job by p or, if m extends the job's own pause, extends that. If another
// request has replaced that pause, it stays as it is.
func pauseDuring(m *clustertree.Maintenance, p protocol.Pause, name string, v *protocol.View) protocol.AskPause {
	own := extendedOf(m, name)
	if own == nil {
		return protocol.AskPause{Paused: true, Pause: p}
	}
	a := protocol.AskPause{Paused: v.Paused, Pause: v.Pause}
	if v.Pause.Since == own.Since && v.Pause.Until == own.Until { // else another request has replaced the pause
		a.Pause.Until = m.Until
	}
	return a
}

// pauseAfter is the request that ends what a maintenance did to a job: an extended pause goes on until its own
// end, and a pause of the maintenance ends. A pause that another request has set stays as it is.
func pauseAfter(m *clustertree.Maintenance, now int64, name string, v *protocol.View) protocol.AskPause {
	own := extendedOf(m, name)
	since := m.Since // of the pause that the maintenance has set or extended
	if own != nil {
		since = own.Since
	}
	a := protocol.AskPause{Paused: v.Paused, Pause: v.Pause}
	switch {
	case v.Pause.Since != since || v.Pause.Until != m.Until: // another request has replaced the pause
	case own != nil && own.Until > now:
		a.Pause.Until = own.Until
	default:
		a = protocol.AskPause{}
	}
	return a
}

// EndMaintenance ends the maintenance before its time. It resumes the jobs whose pause is still the
// one of the maintenance. The own end of a pause that it extended holds again.
// The result has the jobs that stay paused, and when it ended.
func (o *Operator) EndMaintenance(ctx context.Context) (*Maintenance, error) {
	const what = "end the maintenance"
	now, err := o.surelyNow(ctx)
	if err != nil {
		return nil, readError(err, "%s: ask the registry for its time", what)
	}
	var was clustertree.Maintenance
	err = o.changeMaintenance(ctx, what, deed{verb: verbEnd.command, after: "ended"}, func(is *clustertree.Maintenance, all *clustertree.Alerts) error {
		if is.Until <= now.UnixMilli() && was.Until == 0 {
			return failf(host.NotFound, nil, "there is no maintenance")
		}
		if is.Until > now.UnixMilli() { // else a try without an answer has ended it
			was = *is
		}
		is.Until = now.UnixMilli()
		all.Silence(clustertree.Silence{}, now.UnixMilli()) // one that is over already replaces that of all jobs
		return nil
	})
	if err != nil {
		return nil, err
	}
	ended := maintenanceOf(&was)
	ended.Until, ended.Paused = time.UnixMilli(now.UnixMilli()), []string{}
	for _, name := range was.Paused {
		var after protocol.AskPause
		resumed := false // also by a try without an answer
		err := o.askBy(ctx, request{verb: verbEnd, job: name, about: protocol.AskPause{}, wish: func(v *protocol.View) (protocol.Ask, deed, error) {
			after = pauseAfter(&was, now.UnixMilli(), name, v)
			resumed = resumed || v.Paused && !after.Paused
			return after, deedOf(after), nil
		}})
		if err != nil && host.CodeOf(err) != host.NotFound { // it may have been removed
			return nil, failf(host.CodeOf(err), err, "the maintenance has ended, but some of its jobs stay paused until %s: resume them", time.UnixMilli(was.Until).UTC().Format(time.RFC3339))
		}
		switch stays := after.Paused && (after.Pause.Until == 0 || after.Pause.Until > now.UnixMilli()); {
		case stays:
			ended.Paused = append(ended.Paused, name)
		case resumed && err == nil:
			ended.Resumed = append(ended.Resumed, name)
		}
	}
	return ended, nil
}

func (o *Operator) readMaintenance(ctx context.Context, what string) (clustertree.Maintenance, registry.Node, error) {
	return readState(ctx, o, what, "maintenance", o.tree.Maintenance(), clustertree.DecodeMaintenance)
}

// changeMaintenance changes the maintenance and the silences in one transaction.
func (o *Operator) changeMaintenance(ctx context.Context, what string, d deed, change func(*clustertree.Maintenance, *clustertree.Alerts) error) error {
	return o.changeState(ctx, what, &d, func(time.Time) ([]registry.Op, error) {
		all, silences, err := o.readAlerts(ctx, what)
		if err != nil {
			return nil, err
		}
		m, n, err := o.readMaintenance(ctx, what)
		if err != nil {
			return nil, err
		}
		if err := change(&m, &all); err != nil {
			return nil, err
		}
		data := m.Encode()
		if data == nil {
			return nil, failf(host.Invalid, nil, "%s: the names of its jobs are too long; name fewer", what)
		}
		return []registry.Op{setOrCreate(o.tree.Maintenance(), n, data), setOrCreate(o.tree.Alerts(), silences, all.Encode())}, nil
	})
}
