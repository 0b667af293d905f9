package operator

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/internal/layout/clustertree"
)

// AuditRow is a write of an operator.
type AuditRow struct {
	Number int64     `json:"number"` // grows from row to row
	At     time.Time `json:"at"`     // by the registry's clock
	Author
	Verb   string `json:"verb"` // in the words of the command
	Job    string `json:"job,omitempty"`
	Detail string `json:"detail,omitempty"` // parameters, as name=value
	Before string `json:"before,omitempty"`
	After  string `json:"after,omitempty"`
	Fault  string `json:"fault,omitempty"` // why the row cannot be read; then only Number and At are set, too
}

// AuditFilter selects the rows that Audit returns. The zero value selects all.
type AuditFilter struct {
	Who   string
	Verb  string // or its first words: "job" selects all verbs of jobs
	Job   string
	Since time.Time
	Limit int // the maximum of rows, the newest ones; 0: no limit
}

func (f AuditFilter) selects(r *AuditRow) bool {
	return (f.Who == "" || r.Name == f.Who) && (f.Job == "" || r.Job == f.Job) && !r.At.Before(f.Since) &&
		(f.Verb == "" || r.Verb == f.Verb || strings.HasPrefix(r.Verb, f.Verb+" "))
}

// Audit returns rows of the audit, the newest first. An unreadable row has only its number,
// its time and a Fault, so it is missing if the filter asks for an author, a verb or a job.
func (o *Operator) Audit(ctx context.Context, f AuditFilter) ([]AuditRow, error) {
	const what = "read the audit"
	if f.Limit < 0 {
		return nil, failf(host.Invalid, nil, "%s: the limit of %d rows is negative", what, f.Limit)
	}
	dir, err := o.session.Read(ctx, o.tree.Audit())
	if err != nil {
		return nil, readError(err, what)
	}
	names := auditRows(dir)
	slices.Reverse(names)
	var rows []AuditRow
	for some := range slices.Chunk(names, readsAtOnce) {
		paths := make([]string, len(some))
		for i, name := range some {
			paths[i] = o.tree.Row(name)
		}
		nodes, err := o.readAll(ctx, paths, readsAtOnce)
		if err != nil {
			return nil, readError(err, what)
		}
		for i, n := range nodes {
			if !n.Exists { // it has just been trimmed
				continue
			}
			r := auditRow(some[i], n.Data)
			r.At = n.Stat.ModifiedAt
			if f.selects(&r) {
				rows = append(rows, r)
			}
			if f.Limit > 0 && len(rows) == f.Limit || !f.Since.IsZero() && r.At.Before(f.Since) {
				return rows, nil
			}
		}
	}
	return rows, nil
}

// auditRow decodes the node of a row, except for its time. The name of the node has the row's number.
func auditRow(name string, data []byte) AuditRow {
	n, _ := clustertree.RowNumber(name)
	r, err := clustertree.DecodeRow(data)
	if err != nil {
		return AuditRow{Number: n, Fault: err.Error()}
	}
	return AuditRow{
		Number: n, Author: Author{Name: r.Who, Way: Way(r.Way), Role: Role(r.Role), Request: r.Request},
		Verb: r.Verb, Job: r.Job, Detail: r.Detail, Before: r.Before, After: r.After,
	}
}
