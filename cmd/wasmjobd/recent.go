package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/config"
	"github.com/wasmjob/wasmjob/host/trace"
	"github.com/wasmjob/wasmjob/host/trace/sqltrace"
)

// recentRows is how many rows of a job tell how its newest runs went.
const recentRows = 200

// recently is how the newest runs of jobs went, by name: as far as the history of this
// server has them.
type recently map[string]trace.Recent

// recent looks at the history, if there is one. That it cannot be read keeps nobody
// from what the registry tells.
func recent(ctx context.Context, term *terminal, f *config.File, jobs ...host.JobReport) recently {
	if _, err := os.Stat(f.History.Path); errors.Is(err, fs.ErrNotExist) {
		return nil // it has never run
	}
	r, err := sqltrace.OpenReader(ctx, sqltrace.File(f.History.Path))
	if err != nil {
		term.note("how the last runs went is not known: %v", err)
		return nil
	}
	all := recently{}
	for i := range jobs {
		page, err := r.Query(ctx, sqltrace.Filter{Job: jobs[i].Name, Limit: recentRows})
		if err != nil {
			term.note("how the last runs went is not known: %v", err)
			break
		}
		all[jobs[i].Name] = trace.RecentOf(page.Rows)
	}
	_ = r.Close() // nothing was written
	return all
}

// lastRuns is what JSON has of them.
type lastRuns struct {
	LastState   trace.State `json:"last_state,omitempty"` // of the newest run that ended, in the history of this server
	LastRan     string      `json:"last_ended,omitempty"`
	LastRanMs   int64       `json:"last_ended_unix_ms,omitempty"`
	Failures    int         `json:"failures_in_a_row"`
	FailingItem *int        `json:"failing_item,omitempty"` // whose they are
}

func (all recently) of(job string) lastRuns {
	r := all[job]
	out := lastRuns{LastState: r.State, LastRan: stamp(r.At, time.UTC), LastRanMs: r.At, Failures: r.Failures}
	if r.Failures > 0 {
		out.FailingItem = &r.Item
	}
	return out
}

// short is that in a column.
func (l *lastRuns) short() string {
	if l.Failures < 2 {
		return orDash(plain(string(l.LastState)))
	}
	return fmt.Sprintf("%s, %d failures in a row", plain(string(l.LastState)), l.Failures)
}

// long is that in a line.
func (l *lastRuns) long(zone *time.Location) string {
	text := fmt.Sprintf("%s at %s", plain(string(l.LastState)), stamp(l.LastRanMs, zone))
	if l.Failures > 0 {
		text += fmt.Sprintf("; item %d failed %s in a row", *l.FailingItem, count(l.Failures, "time"))
	}
	return text + ", by the history of this server"
}
