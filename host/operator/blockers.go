package operator

import (
	"slices"
	"strconv"

	"github.com/wasmjob/wasmjob/host/internal/admission"
	"github.com/wasmjob/wasmjob/host/internal/assign"
	"github.com/wasmjob/wasmjob/host/internal/definition"
	"github.com/wasmjob/wasmjob/host/internal/layout"
	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/internal/schedule"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/reason"
)

// Compare lets reports also tell what keeps a server from its jobs in whose own
// file they are like these.
func (o *Operator) Compare(files []job.Config) {
	o.files = make(map[string]*job.Config, len(files))
	for i := range files {
		o.files[files[i].Name] = &files[i]
	}
}

// blockers are what keeps servers of ours from the job as the registry has it, and
// what they cannot do as it says, or is otherwise beside members of ElasticJob.
func (o *Operator) blockers(name string, v *protocol.View, config definition.Config, module *definition.Module) (blockers, faults []reason.Reason) {
	if config == nil {
		return nil, nil // the view's own faults tell
	}
	f, joinable := layout.AdmissionFacts(layout.NewJob(o.namespace, name), o.files[name], config, module, v.Shared())
	if !joinable {
		return nil, nil // it is none of ours
	}
	j := f.Job
	f.Member, f.Knows = len(v.Members) > 0, assign.Known(nil)
	verdict := admission.Decide(&f)
	if _, err := schedule.Compile(j.Cron, j.Dialect, j.TimeZone); j.Cron != "" && err != nil {
		faults = append(faults, unreadable(v, j, err))
	}
	return verdict.Blockers, slices.Concat(faults, verdict.OnlyAlone, verdict.Warnings)
}

// unreadable says what a cron that cannot be read does to a job.
func unreadable(v *protocol.View, j job.Config, err error) reason.Reason {
	if v.Shared() || len(v.Members) == 0 {
		return reason.Of(reason.CronInvalid, err.Error())
	}
	for _, s := range slices.Backward(v.Past().Schedules) {
		if _, unread := schedule.Compile(s.Cron, j.Dialect, j.TimeZone); s.Cron != "" && unread == nil {
			return reason.Of(reason.CronInvalidGoesOn, strconv.Quote(s.Cron), err.Error())
		}
	}
	return reason.Of(reason.CronInvalid, err.Error())
}
