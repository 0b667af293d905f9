package admin

import (
	"time"

	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/operator"
)

// The documents of the API. Programs read them: add members, change none.

type jobsDocument struct {
	Version int           `json:"version"`
	Jobs    []jobDocument `json:"jobs"`
	Next    string        `json:"next,omitempty"`
}

type shownDocument struct {
	Version int `json:"version"`
	jobDocument
}

// jobDocument is a report, with the parts of the job's configuration that are not
// secret.
type jobDocument struct {
	operator.JobReport
	Config *configDocument `json:"config,omitempty"`
}

type configDocument struct {
	Kind        job.Kind    `json:"kind"`
	Cron        string      `json:"cron,omitempty"` // none: the job is triggered
	Dialect     string      `json:"dialect,omitempty"`
	TimeZone    string      `json:"timezone,omitempty"`
	Except      []string    `json:"except,omitempty"`
	Jitter      string      `json:"jitter,omitempty"`
	After       []string    `json:"after,omitempty"` // jobs after which it runs
	CatchUp     job.CatchUp `json:"catch_up,omitempty"`
	Shards      int         `json:"shards"`
	Description string      `json:"description,omitempty"`
	// Strategy and StrategyModule name what assigns the items; the first is empty for average.
	Strategy       string `json:"strategy,omitempty"`
	StrategyModule string `json:"strategy_module,omitempty"`
}

// documentOf converts a report. It has an empty list in place of nil, which JSON would show as null.
func documentOf(r *operator.JobReport) jobDocument {
	d := jobDocument{JobReport: *r}
	if c := r.Config; c != nil {
		jitter := ""
		if c.Jitter > 0 {
			jitter = c.Jitter.String()
		}
		d.Config = &configDocument{c.Kind, c.Cron, c.Dialect, c.TimeZone, c.Except, jitter, c.After, c.CatchUp, c.Shards, c.Description, c.Strategy, c.StrategyModule}
	}
	d.Faults = orEmpty(d.Faults)
	d.Blockers = orEmpty(d.Blockers)
	d.Members = orEmpty(d.Members)
	d.Servers = orEmpty(d.Servers)
	return d
}

// orEmpty returns all, but an empty list for nil, which JSON would show as null.
func orEmpty[T any](all []T) []T {
	if all == nil {
		return []T{}
	}
	return all
}

// report returns the report that the document was made from, without the fields that the
// document leaves out.
func (d *jobDocument) report() *operator.JobReport {
	r := d.JobReport
	if c := d.Config; c != nil {
		jitter, _ := time.ParseDuration(c.Jitter) // 0 if it is invalid
		r.Config = &job.Config{
			Name: r.Name, Kind: c.Kind, Cron: c.Cron, Dialect: c.Dialect, TimeZone: c.TimeZone, Except: c.Except, Jitter: jitter, After: c.After, CatchUp: c.CatchUp, Shards: c.Shards,
			Description: c.Description, Strategy: c.Strategy, StrategyModule: c.StrategyModule,
		}
	}
	return &r
}
