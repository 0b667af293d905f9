package missed

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/wasmjob/wasmjob/host/internal/layout"
	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/internal/runner"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/registry"
	"github.com/wasmjob/wasmjob/host/trace"
)

// Job is a job that may have no running server.
type Job struct {
	Name     string
	Layout   layout.Layout
	Registry Registry
	View     func(context.Context) (*protocol.View, error) // reads the whole job as of one moment
	Removed  bool                                          // the job is about to be removed
	Refused  func(trace.Row, error)                        // receives each row that no history takes
}

// Registry is the part of a session that this package uses.
type Registry interface {
	Commit(context.Context, ...registry.Op) (registry.Receipt, error)
	Persist(context.Context) error
}

// Record stores the instants that the job has missed and the rows that its last server
// has left, and returns these rows. They stay in the registry until to has stored them,
// so no row is lost or stored twice. An error comes from the registry, to or ctx.
func (j Job) Record(ctx context.Context, to trace.Sink) ([]trace.Row, error) {
	v, err := j.View(ctx)
	if err != nil {
		return nil, err
	}
	if _, alone := j.missed(v); !alone {
		return nil, nil // the server that runs the job records it
	}
	// Rows of an earlier call go first: while no history takes them, none is added.
	waited, err := j.store(ctx, v, to)
	if err != nil {
		return nil, err
	}
	if v, err = j.View(ctx); err != nil {
		return waited, err
	}
	m, alone := j.missed(v)
	if !alone {
		return waited, nil
	}
	if len(Rows(j.Layout, j.Name, v, &m.Own)) == 0 {
		return waited, nil
	}
	_, err = j.Registry.Commit(ctx, j.Layout.Encode(m, v)...)
	if errors.Is(err, registry.ErrConflict) {
		return waited, nil // a server has joined, and records what the job has missed
	}
	if err != nil {
		return waited, fmt.Errorf("record what the job has missed: %w", err)
	}
	if v, err = j.View(ctx); err != nil {
		return waited, err
	}
	rows, err := j.store(ctx, v, to)
	return append(waited, rows...), err
}

// missed returns the transaction with the rows for the instants missed until now, by an id
// that stands for this process; false if a server runs the job.
func (j Job) missed(v *protocol.View) (protocol.RecordMissed, bool) {
	by := job.NewInstanceID("127.0.0.1", strconv.Itoa(os.Getpid()))
	return protocol.NoServer{Now: time.Now().UnixMilli(), By: by, Removed: j.Removed}.Record(v)
}

// store moves the rows in the records of members that are gone from the registry to the
// history: it writes them to the history first, then the records without them. It returns
// the rows that the history has taken.
func (j Job) store(ctx context.Context, v *protocol.View, to trace.Sink) ([]trace.Row, error) {
	var rows []trace.Row
	for i := range v.Runs {
		rows = append(rows, Rows(j.Layout, j.Name, v, v.Runs[i].RunsData)...)
	}
	if len(rows) == 0 {
		return nil, nil
	}
	if err := j.Registry.Persist(ctx); err != nil { // the history must not be ahead of the registry
		return nil, fmt.Errorf("write the registry to its disk: %w", err)
	}
	rows, err := j.write(ctx, to, rows)
	if err != nil {
		return nil, fmt.Errorf("store what the job has missed: %w", err)
	}
	for k := range v.Runs {
		m, ok := v.Stored(v.Runs[k].ID)
		if !ok || len(Rows(j.Layout, j.Name, v, v.Runs[k].RunsData)) < len(v.Runs[k].Rows) {
			continue // a row has an unknown schedule, so all rows of the record stay
		}
		if _, err := j.Registry.Commit(ctx, j.Layout.Encode(m, v)...); err != nil && !errors.Is(err, registry.ErrConflict) {
			return rows, fmt.Errorf("record that the history has what the job has missed: %w", err)
		}
	}
	return rows, nil
}

// write stores rows and returns those that the history takes. A row that it never takes
// is reported to Refused and does not hold up the others; otherwise anyone with write
// access to the registry could stop the job's rows.
func (j Job) write(ctx context.Context, to trace.Sink, rows []trace.Row) (stored []trace.Row, err error) {
	err = runner.Write(ctx, to, rows)
	if !errors.Is(err, trace.ErrRow) {
		return rows, err
	}
	for i := range rows {
		switch err := runner.Write(ctx, to, rows[i:i+1]); {
		case errors.Is(err, trace.ErrRow):
			j.Refused(rows[i], err)
		case err != nil:
			return nil, err
		default:
			stored = append(stored, rows[i])
		}
	}
	return stored, nil
}
