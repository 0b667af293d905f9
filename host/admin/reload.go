package admin

import (
	"context"
	"errors"
	"slices"

	"github.com/wasmjob/wasmjob/host"
)

const reloadPath = "/api/v1/config:reload"

// Reload makes a server apply the current content of its files. Its error is a
// *host.Error, whose Err joins all faults if there are several.
type Reload func(context.Context) (Reloaded, error)

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

// reload makes the server read its files again, as at SIGHUP. It answers when the
// server has applied them, with the jobs "added", "changed" and "removed", the number
// "unchanged" and the keys that "need_restart", or with all faults in them.
func (h *Handler) reload(r *request) error {
	if err := r.readBody(nil); err != nil {
		return err
	}
	d, err := h.o.Reload(r.Context())
	if err != nil {
		p := problemOf(err)
		if e, ok := errors.AsType[*host.Error](err); ok {
			if all, ok := e.Err.(interface{ Unwrap() []error }); ok {
				p.Detail = e.Msg
				for _, one := range all.Unwrap() {
					p.Errors = append(p.Errors, fault{Message: one.Error()})
				}
			}
		}
		return p
	}
	return r.answer(reloadedDocument{1, orEmpty(d.Added), orEmpty(d.Changed), orEmpty(d.Removed), d.Kept, orEmpty(append(slices.Clone(d.NeedRestart), d.Reloaded.NeedRestart...))})
}
