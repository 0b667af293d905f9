package admin

import (
	"context"
	"errors"
	"fmt"

	"github.com/wasmjob/wasmjob/host"
)

const reloadPath = "/api/v1/config:reload"

// Reload makes a server apply the current content of its files or, with dry, returns only
// what that would change. Its error is a *host.Error, whose Err joins all faults if there
// are several.
type Reload func(ctx context.Context, dry bool) (Reloaded, error)

// Reloaded is the result of a reload.
type Reloaded struct {
	host.Reloaded
	NeedRestart []string // changed settings that only a restart applies
}

type reloadedDocument struct {
	Version     int      `json:"version"`
	Added       []string `json:"added"` // jobs
	Changed     []string `json:"changed"`
	Removed     []string `json:"removed"`
	Unchanged   int      `json:"unchanged"`
	NeedRestart []string `json:"need_restart"`
}

// reload makes the server read its files again. If they have several faults, the problem lists each.
func reload(r *request, _ *nothing) (reloadedDocument, error) {
	d, err := r.h.o.Reload(r.Context(), r.dry())
	if err != nil {
		if host.CodeOf(err) == host.Unknown && !r.dry() { // the server goes on reading, and applies what it reads
			if noted := r.note("reload", "result unknown"); noted != nil {
				r.h.o.Log.Warn("a reload is not in the audit", "error", noted)
			}
		}
		p := problemOf(err)
		if e, ok := errors.AsType[*host.Error](err); ok {
			if all, ok := e.Err.(interface{ Unwrap() []error }); ok {
				p.Detail = e.Msg
				for _, one := range all.Unwrap() {
					p.Errors = append(p.Errors, fault{Message: one.Error()})
				}
			}
		}
		return reloadedDocument{}, p
	}
	if r.dry() {
		return reloadedDocument{}, r.noteEach(&d)
	}
	if err := r.note("reload", fmt.Sprintf("added=%d changed=%d removed=%d", len(d.Added), len(d.Changed), len(d.Removed))); err != nil {
		return reloadedDocument{}, err
	}
	return reloadedDocument{1, orEmpty(d.Added), orEmpty(d.Changed), orEmpty(d.Removed), d.Kept, orEmpty(d.NeedRestart)}, nil
}

// noteEach notes each job by name, for the answer of a dry run: there, note adds no row to the audit, but a change
// to the answer.
func (r *request) noteEach(d *Reloaded) error {
	for _, of := range []struct {
		done  string
		names []string
	}{{"added", d.Added}, {"changed", d.Changed}, {"removed", d.Removed}} {
		for _, name := range of.names {
			if err := r.note("reload", of.done+" "+name); err != nil {
				return err
			}
		}
	}
	return nil
}
