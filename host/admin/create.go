package admin

import (
	"context"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/operator"
)

type createdDocument struct {
	Version int    `json:"version"`
	Job     string `json:"job"`
	Warning string `json:"warning,omitempty"`
}

// createBody is a job as text, with its name.
type createBody struct {
	Name   string `json:"name"`
	TOML   string `json:"toml"`
	Digest string `json:"digest"`
}

// createAction creates a job that no file has.
func createAction() action {
	return action{takes: reflect.TypeFor[createBody](), gives: reflect.TypeFor[createdDocument](), status: http.StatusCreated, do: func(r *request) error {
		var b createBody
		if err := r.readBody(&b); err != nil {
			return err
		}
		name, err := checkName(b.Name)
		if err != nil {
			return refuse(http.StatusUnprocessableEntity, codeInvalid, "write the name of the job", fault{Pointer: "/name", Message: "write the name of the job"})
		}
		r.op.WarnOf(r.unheld)
		warning, err := r.op.CreateJob(r.Context(), operator.JobText{Name: b.Name, TOML: b.TOML, Digest: b.Digest}, r.h.o.Define)
		if err != nil {
			return err
		}
		r.w.Header().Set("Location", jobPath(name))
		writeJSON(r.w, http.StatusCreated, jsonType, createdDocument{1, name, warning})
		return nil
	}}
}

// applyBody is a job as text: a configuration and, for a new job, the digest of its first
// module.
type applyBody struct {
	TOML   string `json:"toml"`
	Digest string `json:"digest"`
}

type appliedDocument struct {
	Version int `json:"version"`
	operator.Planned
}

// applyJob creates or changes the job in the path.
func applyJob(r *request, name string, b *applyBody) (appliedDocument, error) {
	r.op.WarnOf(r.unheld)
	p, err := r.op.ApplyJob(r.Context(), operator.JobText{Name: name, TOML: b.TOML, Digest: b.Digest}, r.h.o.Define)
	return appliedDocument{1, p}, err
}

// ApplyJob is operator.Operator.ApplyJob; the server parses the text.
func (c *Client) ApplyJob(ctx context.Context, text operator.JobText, _ func(operator.JobText) (job.Config, error)) (operator.Planned, error) {
	var d appliedDocument
	err := c.read(ctx, http.MethodPut, jobPath(text.Name), applyBody{text.TOML, text.Digest}, &d)
	return d.Planned, err
}

// CreateJob is operator.Operator.CreateJob; the server parses the text.
func (c *Client) CreateJob(ctx context.Context, text operator.JobText, _ func(operator.JobText) (job.Config, error)) (warning string, err error) {
	var d createdDocument
	err = c.read(ctx, http.MethodPost, jobsPath, text, &d)
	return d.Warning, err
}

// unheld is an operator.Unheld: it warns if neither this server nor another one that answers has a module.
func (r *request) unheld(ctx context.Context, digest string) string {
	if r.h.o.Held == nil {
		return ""
	}
	here, err := r.h.o.Held()
	if err != nil || slices.ContainsFunc(here, func(h host.HeldModule) bool { return h.Digest == digest }) {
		return "" // the content of a broken disk is not known
	}
	var unread []string
	if r.asksOthers() {
		var clients map[string]*Client
		clients, unread = r.others(ctx, "", operator.View)
		var has atomic.Bool
		silent := operator.AskAll(ctx, clients, func(ctx context.Context, _ string, c *Client) error {
			there, err := c.holds(ctx, digest)
			if there {
				has.Store(true)
			}
			return err
		})
		if has.Load() {
			return ""
		}
		unread = append(silent, unread...)
	}
	warning := "no server that was asked has the module " + digest + ", and the job does not run before one has; bring it with module push"
	if len(unread) > 0 {
		warning += "; not asked: " + strings.Join(unread, ", ")
	}
	return warning
}

// holds reports whether the server has a module on its disk.
func (c *Client) holds(ctx context.Context, digest string) (bool, error) {
	var page modulesDocument
	// The list begins after the cursor, and at most maxSharing digests begin with it.
	query := url.Values{"limit": {strconv.Itoa(maxSharing)}, "cursor": {digest[:len(digest)-1]}}
	if err := c.read(ctx, http.MethodGet, modulesPath+"?"+query.Encode(), nil, &page); err != nil {
		return false, err
	}
	return slices.ContainsFunc(page.Modules, func(m operator.ModuleVersion) bool { return m.Digest == digest && m.Size > 0 }), nil
}

// maxSharing is the number of digests that differ only in the last digit.
const maxSharing = 16
