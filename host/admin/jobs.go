package admin

import (
	"context"
	"net/http"
	"net/url"
	"strconv"

	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/operator"
)

const jobsPath = "/api/v1/jobs"

// jobPath returns the path of a job.
func jobPath(name string) string { return jobsPath + "/" + url.PathEscape(name) }

// listJobs answers with a page of the jobs.
func listJobs(r *request) (jobsDocument, error) {
	d := jobsDocument{Version: 1, Jobs: []jobDocument{}}
	f := operator.JobFilter{Part: r.query.Get("q"), State: r.query.Get("state"), After: r.query.Get("cursor")}
	var err error
	if f.Limit, err = r.limit(); err != nil {
		return d, err
	}
	jobs, next, err := r.op.JobsPage(r.Context(), f)
	for i := range jobs {
		d.Jobs = append(d.Jobs, documentOf(&jobs[i]))
	}
	d.Next = next
	r.linkNext(next)
	return d, err
}

// showJob answers with the report on the job in the path.
func showJob(r *request) (shownDocument, error) {
	name, err := r.jobName()
	if err != nil {
		return shownDocument{}, err
	}
	report, err := r.op.Job(r.Context(), name)
	if err != nil {
		return shownDocument{}, err
	}
	return shownOf(report), nil
}

// shownOf is the document of one job, from which its tag is made.
func shownOf(r *operator.JobReport) shownDocument {
	return shownDocument{Version: 1, jobDocument: documentOf(r)}
}

// jobVerb calls a verb of the Operator that takes only the job's name.
func jobVerb(do func(*operator.Operator, context.Context, string) error) action {
	return onJob(func(r *request, name string, _ *nothing) error { return do(r.op, r.Context(), name) })
}

type switchBody struct {
	Server *string `json:"server"`
}

// switchJob disables or enables a job: on every server that it knows, or with
// "server" on those at one address.
func switchJob(disabled bool) action {
	return onJob(func(r *request, name string, b *switchBody) error {
		if b.Server == nil {
			return r.op.SetJob(r.Context(), name, disabled)
		}
		return r.op.SetServer(r.Context(), name, *b.Server, disabled)
	})
}

// switchItem disables or enables an item of a job.
func switchItem(disabled bool) action {
	return onJob(func(r *request, name string, _ *nothing) error {
		text := r.PathValue("item")
		item, err := strconv.Atoi(text)
		if err != nil || strconv.Itoa(item) != text { // an item has only one path: 01 is none
			return noRoute(r.Request)
		}
		return r.op.SetItem(r.Context(), name, item, disabled)
	})
}

// shutdownDocument lists the members on which a job ends.
type shutdownDocument struct {
	Version   int              `json:"version"`
	Instances []job.InstanceID `json:"instances"`
}

type shutdownBody struct {
	All      bool           `json:"all"`
	Server   string         `json:"server"`
	Instance job.InstanceID `json:"instance"`
}

// shutdownJob ends a job on some or all of its members.
func shutdownJob(r *request, name string, b *shutdownBody) (shutdownDocument, error) {
	chosen := 0
	for _, is := range []bool{b.All, b.Server != "", b.Instance != ""} {
		if is {
			chosen++
		}
	}
	if chosen != 1 {
		return shutdownDocument{}, refuse(http.StatusUnprocessableEntity, codeInvalid, `say where the job is to end: one of "server", "instance" and "all"`)
	}
	gone, err := r.op.Shutdown(r.Context(), name, operator.Which{All: b.All, IP: b.Server, Instance: b.Instance})
	return shutdownDocument{Version: 1, Instances: orEmpty(gone)}, err
}

type removeBody struct {
	Force bool `json:"force"`
}

// removeJob deletes the job in the path from the registry.
func removeJob(r *request, b *removeBody) error {
	name, err := r.jobName()
	if err != nil {
		return err
	}
	return r.op.Remove(r.Context(), name, b.Force)
}

// textType is the media type of a dump.
const textType = "text/plain; charset=utf-8"

// dumpJob answers as `job dump`, in plain text.
func dumpJob(r *request) error {
	name, err := r.jobName()
	if err != nil {
		return err
	}
	to := &plainText{w: r.w}
	err = r.op.Dump(r.Context(), name, to)
	if err != nil && to.begun {
		panic(http.ErrAbortHandler) // cuts the answer off, so that the client notices that it is incomplete
	}
	return err
}

// plainText is an answer whose headers are sent with the first piece of text.
type plainText struct {
	w     http.ResponseWriter
	begun bool
}

// Write implements io.Writer.
func (p *plainText) Write(b []byte) (int, error) {
	if !p.begun {
		p.begun = true
		p.w.Header().Set("Content-Type", textType)
	}
	return p.w.Write(b) //nolint:wrapcheck // part of the answer
}
