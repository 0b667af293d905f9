package operator

import (
	"context"
	"slices"
	"time"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/internal/layout/clustertree"
	"github.com/wasmjob/wasmjob/host/registry"
)

// Bounds of a silence.
const (
	minSilence = time.Minute
	maxSilence = 30 * 24 * time.Hour
)

// Alert is a problem of a job that lasts or has just ended.
type Alert struct {
	Job      string    `json:"job"`
	Kind     string    `json:"kind"`
	Items    []int     `json:"items,omitempty"` // some, if they are many
	Count    int64     `json:"count"`           // how often it was seen
	First    time.Time `json:"first"`
	Last     time.Time `json:"last"`
	Text     string    `json:"text,omitempty"`   // the newest problem
	Notify   []string  `json:"notify"`           // names of notifiers
	Untold   []string  `json:"untold,omitempty"` // notifiers that have not received the newest state
	Tries    int       `json:"tries,omitempty"`  // failed deliveries to them
	Over     time.Time `json:"over,omitzero"`    // when the problem ended; zero: it lasts
	Silenced bool      `json:"silenced,omitempty"`
}

// Silence holds back the alerts of a job until a moment, by the registry's clock. Without a job
// it holds back all alerts.
type Silence struct {
	Job   string    `json:"job"`
	Until time.Time `json:"until"`
	Why   string    `json:"why,omitempty"`
	By    string    `json:"by"`
}

// Alerts returns the alerts of the cluster, sorted by job and kind, and the current silences,
// sorted by job.
func (o *Operator) Alerts(ctx context.Context) (alerts []Alert, silences []Silence, err error) {
	const what = "list the alerts"
	if err := o.session.Sync(ctx); err != nil {
		return nil, nil, readError(err, "%s", what)
	}
	all, _, err := o.readAlerts(ctx, what)
	if err != nil {
		return nil, nil, err
	}
	now, err := o.now(ctx)
	if err != nil {
		return nil, nil, readError(err, "%s: ask the registry for its time", what)
	}
	for i := range all.All {
		a := &all.All[i]
		one := Alert{
			Job: a.Job, Kind: a.Kind, Items: a.Named(), Count: a.Count, First: time.UnixMilli(a.First), Last: time.UnixMilli(a.Last), Text: a.Text,
			Notify: a.Notify, Untold: a.Left, Tries: a.Tries, Silenced: all.Silenced(a.Job, now.UnixMilli()),
		}
		if a.Over != 0 {
			one.Over = time.UnixMilli(a.Over)
		}
		alerts = append(alerts, one)
	}
	for _, s := range all.Silences {
		if s.Until > now.UnixMilli() {
			silences = append(silences, Silence{Job: s.Job, Until: time.UnixMilli(s.Until), Why: s.Why, By: s.By})
		}
	}
	return alerts, silences, nil
}

// Silence holds back the alerts of a job for a while. Problems in this time raise no alert; an
// earlier alert that was not delivered yet is delivered afterwards. A new silence replaces an
// existing one.
func (o *Operator) Silence(ctx context.Context, job string, life time.Duration, why string) (s Silence, err error) {
	const what = "silence"
	if life < minSilence || life > maxSilence {
		return s, failf(host.Invalid, nil, "%s job %s: it cannot be for %v; write %v to %v", what, job, life, minSilence, maxSilence)
	}
	if err := checkWhy(what+" job "+job, why); err != nil {
		return s, err
	}
	if names, err := o.Names(ctx); err != nil {
		return s, err
	} else if !slices.Contains(names, job) {
		return s, o.noJob(ctx, job)
	}
	d := deed{verb: "alert silence", job: job, detail: why}
	return s, o.changeSilences(ctx, what, &d, func(all *clustertree.Alerts, now time.Time) error {
		s = Silence{Job: job, Until: now.Add(life).Truncate(time.Millisecond), Why: why, By: o.author.Name}
		d.before, d.after = silenceOf(all, job, now), "until "+s.Until.UTC().Format(time.RFC3339)
		if !all.Silence(clustertree.Silence{Job: job, Until: s.Until.UnixMilli(), Why: why, By: s.By}, now.UnixMilli()) {
			return failf(host.Refused, nil, "%s job %s: there are %d silences, which is the limit; end some with alert unsilence", what, job, clustertree.MaxSilences)
		}
		return nil
	})
}

// Unsilence ends the silence of a job.
func (o *Operator) Unsilence(ctx context.Context, job string) error {
	d, sent := deed{verb: "alert unsilence", job: job}, false
	return o.changeSilences(ctx, "unsilence", &d, func(all *clustertree.Alerts, now time.Time) error {
		if d.before = silenceOf(all, job, now); d.before == "" && !sent {
			return failf(host.NotFound, nil, "job %s is not silenced", job)
		}
		sent = true // a try without an answer may have ended it
		// A silence that is over already replaces it.
		all.Silence(clustertree.Silence{Job: job}, now.UnixMilli())
		return nil
	})
}

// silenceOf describes the silence of a job in the audit; "": there is none.
func silenceOf(all *clustertree.Alerts, job string, now time.Time) string {
	for _, s := range all.Silences {
		if s.Job == clustertree.AlertJob(job) && s.Until > now.UnixMilli() {
			return "until " + time.UnixMilli(s.Until).UTC().Format(time.RFC3339)
		}
	}
	return ""
}

// changeSilences changes the node of alerts, which also has the silences. Errors begin with what and the job
// of d.
func (o *Operator) changeSilences(ctx context.Context, what string, d *deed, change func(*clustertree.Alerts, time.Time) error) error {
	what += " job " + d.job
	return o.changeState(ctx, what, d, func(now time.Time) ([]registry.Op, error) {
		all, n, err := o.readAlerts(ctx, what)
		if err != nil {
			return nil, err
		}
		if err := change(&all, now); err != nil {
			return nil, err
		}
		return []registry.Op{setOrCreate(o.tree.Alerts(), n, all.Encode())}, nil
	})
}

func (o *Operator) readAlerts(ctx context.Context, what string) (clustertree.Alerts, registry.Node, error) {
	return readState(ctx, o, what, "alerts", o.tree.Alerts(), clustertree.DecodeAlerts)
}
