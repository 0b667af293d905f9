package operator

import (
	"context"

	"github.com/wasmjob/wasmjob/host/internal/layout"
	"github.com/wasmjob/wasmjob/host/internal/missed"
	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/trace"
)

// KeptRow is a row of the history that is still in the registry: no history has stored
// it yet, or the registry has not dropped it since. It has no text of the guest.
type KeptRow struct {
	trace.Row
	By job.InstanceID // the member whose history stores it
}

// Kept returns the rows that the registry has of a job, or of all jobs if name is empty,
// and reports on those jobs as Jobs returns them.
func (o *Operator) Kept(ctx context.Context, name string) ([]KeptRow, []JobReport, error) {
	names, err := o.nameOrAll(ctx, name)
	if err != nil {
		return nil, nil, err
	}
	all, err := o.outlines(ctx, names, true)
	var rows []KeptRow
	var reports []JobReport
	for _, of := range all {
		reports = append(reports, *of.report)
		rows = append(rows, of.kept...)
	}
	return rows, reports, err
}

// nameOrAll returns a name or, if it is empty, the names of all jobs.
func (o *Operator) nameOrAll(ctx context.Context, name string) ([]string, error) {
	if name == "" {
		return o.Names(ctx)
	}
	return []string{name}, nil
}

// keptRows returns the rows in the records of a job's members.
func keptRows(l layout.Layout, name string, v *protocol.View) []KeptRow {
	var kept []KeptRow
	for i := range v.Runs {
		for _, row := range missed.Rows(l, name, v, v.Runs[i].RunsData) {
			kept = append(kept, KeptRow{row, v.Runs[i].ID})
		}
	}
	return kept
}
