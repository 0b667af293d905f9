package admin

import (
	"context"
	"net/http"
	"net/url"
	"strconv"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/operator"
)

const jobsPath = "/api/v1/jobs"

// jobPath returns the path of a job.
func jobPath(name string) string { return jobsPath + "/" + url.PathEscape(name) }

// listJobs answers as `job list`.
func listJobs(r *request) error {
	jobs, err := r.op.Jobs(r.Context())
	if err != nil {
		return err
	}
	all := jobsDocument{Version: 1, Jobs: []jobDocument{}}
	for i := range jobs {
		all.Jobs = append(all.Jobs, documentOf(&jobs[i]))
	}
	return r.answer(all)
}

// showJob answers as `job show`.
func showJob(r *request) error {
	name, err := r.jobName()
	if err != nil {
		return err
	}
	report, err := r.op.Job(r.Context(), name)
	if err != nil {
		return err
	}
	return r.answer(shownDocument{Version: 1, jobDocument: documentOf(report)})
}

// trigger does what `job trigger` does.
func trigger(r *request) error {
	name, err := r.jobName()
	if err != nil {
		return err
	}
	return r.callVerb(name, (*operator.Operator).Trigger)
}

// jobCalls are the calls of POST /api/v1/jobs/{job}:{call}.
var jobCalls = map[string]func(*request, string) error{
	"pause":    func(r *request, name string) error { return r.callVerb(name, (*operator.Operator).Pause) },
	"resume":   func(r *request, name string) error { return r.callVerb(name, (*operator.Operator).Resume) },
	"reshard":  func(r *request, name string) error { return r.callVerb(name, (*operator.Operator).Reshard) },
	"disable":  func(r *request, name string) error { return switchJob(r, name, true) },
	"enable":   func(r *request, name string) error { return switchJob(r, name, false) },
	"shutdown": shutdownJob,

	"set-module":      setModule,
	"rollback-module": rollBackModule,
	"withdraw-module": withdrawModule,
}

// callJob calls the verb after the last colon of the path. The name of a job may have
// colons, too.
func callJob(r *request) error {
	called, verb := cutVerb(r.PathValue("call"))
	if verb == "" {
		r.w.Header().Set("Allow", "DELETE, GET, HEAD")
		return refuse(http.StatusMethodNotAllowed, codeMethod, "say what to do with the job, as in "+jobPath(called)+":pause")
	}
	do, ok := jobCalls[verb]
	if !ok {
		return noRoute(r.Request)
	}
	name, err := checkName(called)
	if err != nil {
		return err
	}
	return do(r, name)
}

// callVerb calls a verb of the Operator that takes nothing but the job's name.
func (r *request) callVerb(name string, do func(*operator.Operator, context.Context, string) error) error {
	if err := r.readBody(nil); err != nil {
		return err
	}
	return r.done(name, do(r.op, r.Context(), name))
}

// switchJob disables or enables a job: on every server that it knows, or with
// "server" on those at one address.
func switchJob(r *request, name string, disabled bool) error {
	var ip *string
	if err := r.readBody(map[string]any{"server": &ip}); err != nil {
		return err
	}
	if ip == nil {
		return r.done(name, r.op.SetJob(r.Context(), name, disabled))
	}
	return r.done(name, r.op.SetServer(r.Context(), name, *ip, disabled))
}

// callItem disables or enables an item of a job: the call is `disable` or `enable`.
func callItem(r *request) error {
	name, err := r.jobName()
	if err != nil {
		return err
	}
	text, verb := cutVerb(r.PathValue("call"))
	disabled, ok := switches[verb]
	item, err := strconv.Atoi(text)
	if !ok || err != nil || strconv.Itoa(item) != text {
		return noRoute(r.Request)
	}
	if err := r.readBody(nil); err != nil {
		return err
	}
	return r.done(name, r.op.SetItem(r.Context(), name, item, disabled))
}

// shutdownDocument lists the members on which a job ends.
type shutdownDocument struct {
	Version   int              `json:"version"`
	Instances []job.InstanceID `json:"instances"`
}

// shutdownJob ends a job on some or all of its members: one of "server", an address,
// "instance", an id, and "all", true.
func shutdownJob(r *request, name string) error {
	var w operator.Which
	if err := r.readBody(map[string]any{"all": &w.All, "server": &w.IP, "instance": &w.Instance}); err != nil {
		return err
	}
	chosen := 0
	for _, is := range []bool{w.All, w.IP != "", w.Instance != ""} {
		if is {
			chosen++
		}
	}
	if chosen != 1 {
		return refuse(http.StatusUnprocessableEntity, string(host.Invalid), `say where the job is to end: one of "server", "instance" and "all"`)
	}
	gone, err := r.op.Shutdown(r.Context(), name, w)
	if err != nil {
		return err
	}
	return r.answer(shutdownDocument{Version: 1, Instances: orEmpty(gone)})
}

// removeJob does what `job remove` does; "force" is --force.
func removeJob(r *request) error {
	name, err := r.jobName()
	if err != nil {
		return err
	}
	force := false
	if err := r.readBody(map[string]any{"force": &force}); err != nil {
		return err
	}
	if err := r.op.Remove(r.Context(), name, force); err != nil {
		return err
	}
	r.w.WriteHeader(http.StatusNoContent)
	return nil
}

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
		h := p.w.Header()
		h.Set("Content-Type", "text/plain; charset=utf-8")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Cache-Control", "no-store")
	}
	return p.w.Write(b) //nolint:wrapcheck // part of the answer
}
