package admin

import (
	"context"
	"net/http"
	"reflect"

	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/operator"
)

type createdDocument struct {
	Version int    `json:"version"`
	Job     string `json:"job"`
}

// createAction makes a job that no file has.
func createAction() action {
	return action{takes: reflect.TypeFor[operator.JobText](), gives: reflect.TypeFor[createdDocument](), status: http.StatusCreated, do: func(r *request) error {
		var text operator.JobText
		if err := r.readBody(&text); err != nil {
			return err
		}
		name, err := checkName(text.Name)
		if err != nil {
			return refuse(http.StatusUnprocessableEntity, codeInvalid, "write the name of the job", fault{Pointer: "/name", Message: "write the name of the job"})
		}
		if err := r.op.CreateJob(r.Context(), text, r.h.o.Define); err != nil {
			return err
		}
		r.w.Header().Set("Location", jobPath(name))
		writeJSON(r.w, http.StatusCreated, jsonType, createdDocument{1, name})
		return nil
	}}
}

// applyBody is a job in words: the text of a configuration, and the digest of the module that
// it begins with if it is new.
type applyBody struct {
	TOML   string `json:"toml"`
	Digest string `json:"digest"`
}

type appliedDocument struct {
	Version int `json:"version"`
	operator.Planned
}

// applyJob makes or changes the job in the path.
func applyJob(r *request, b *applyBody) (appliedDocument, error) {
	name, err := r.jobName()
	if err != nil {
		return appliedDocument{}, err
	}
	p, err := r.op.ApplyJob(r.Context(), operator.JobText{Name: name, TOML: b.TOML, Digest: b.Digest}, r.h.o.Define)
	return appliedDocument{1, p}, err
}

// ApplyJob is operator.Operator.ApplyJob; the server reads the text.
func (c *Client) ApplyJob(ctx context.Context, text operator.JobText, _ func(operator.JobText) (job.Config, error)) (operator.Planned, error) {
	var d appliedDocument
	err := c.read(ctx, http.MethodPut, jobPath(text.Name), applyBody{text.TOML, text.Digest}, &d)
	return d.Planned, err
}

// CreateJob is operator.Operator.CreateJob; the server reads the text.
func (c *Client) CreateJob(ctx context.Context, text operator.JobText, _ func(operator.JobText) (job.Config, error)) error {
	return c.read(ctx, http.MethodPost, jobsPath, text, new(createdDocument))
}
