package admin

import (
	"fmt"
	"net/http"
	"slices"

	"github.com/wasmjob/wasmjob/host/operator"
)

const dryName = "dry_run"

// dryParameter is in the query of every request that writes.
var dryParameter = parameter{name: dryName, says: "true: answer with what would be written, and write nothing", oneOf: yesOrNo} // read only

var yesOrNo = []string{"true", "false"} // read only

// queried returns the parameters of the query of the route.
func (r *route) queried() []parameter {
	if !r.writes() {
		return r.query
	}
	return append(slices.Clone(r.query), dryParameter)
}

// dryDocument is the answer of a dry run.
type dryDocument struct {
	Version int             `json:"version"`
	DryRun  bool            `json:"dry_run"`
	Changes []operator.Deed `json:"changes"` // none: there is nothing to be done
}

// dry reports whether the request is a dry run.
func (r *request) dry() bool { return r.query.Get(dryName) == "true" }

// try carries out an action, or in a dry run answers with the changes that it would make. In a dry run the
// Operator writes nothing, and the answer of the action itself is dropped. An action with reports answers dry runs
// by itself.
func (r *request) try(a *action) error {
	if !r.dry() || a.reports {
		return a.do(r)
	}
	if r.op == nil {
		return fmt.Errorf("%s has no dry run", r.URL.Path)
	}
	r.op.DryRun()
	to := r.w
	r.w = unsent{to, http.Header{}}
	if err := a.do(r); err != nil {
		return err
	}
	r.w = to
	return r.answer(dryDocument{Version: 1, DryRun: true, Changes: orEmpty(r.op.Deeds())})
}

// unsent discards an answer. Limits of time and size still reach the connection.
type unsent struct {
	http.ResponseWriter
	header http.Header
}

// Unwrap is for http.ResponseController.
func (u unsent) Unwrap() http.ResponseWriter { return u.ResponseWriter }

// Header implements http.ResponseWriter.
func (u unsent) Header() http.Header { return u.header }

// Write drops the text.
func (u unsent) Write(b []byte) (int, error) { return len(b), nil }

// WriteHeader drops the status.
func (u unsent) WriteHeader(int) {}
