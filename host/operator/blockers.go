package operator

import (
	"slices"
	"strconv"
	"time"

	"github.com/wasmjob/wasmjob/host/internal/admission"
	"github.com/wasmjob/wasmjob/host/internal/assign"
	"github.com/wasmjob/wasmjob/host/internal/definition"
	"github.com/wasmjob/wasmjob/host/internal/layout"
	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/internal/schedule"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/reason"
)

// Compare makes reports also show why a server with these jobs in its own file could
// not run them.
func (o *Operator) Compare(files []job.Config) {
	o.files = make(map[string]*job.Config, len(files))
	for i := range files {
		o.files[files[i].Name] = &files[i]
	}
}

// blockers returns why servers of ours cannot run the job that the registry defines. It is not about a particular
// server, except that after Compare the file given there counts as the server's own. faults are settings that
// they do not apply, or apply differently beside foreign members.
func (o *Operator) blockers(l layout.Layout, name string, v *protocol.View, config definition.Config, module *definition.Module) (blockers, faults []reason.Reason) {
	if config == nil {
		return nil, nil // the view has a fault for this
	}
	f, joinable := layout.AdmissionFacts(l, o.files[name], config, module, v.Shared())
	if !joinable {
		return nil, nil // a job that no server of ours can run
	}
	j := f.Job
	f.Member, f.Knows = len(v.Members) > 0, assign.Known(nil) // the strategies that each server has
	verdict := admission.Decide(&f)
	if _, err := schedule.Of(j); j.Cron != "" && err != nil {
		faults = append(faults, unreadable(v, j, err))
	}
	return verdict.Blockers, slices.Concat(faults, verdict.OnlyAlone, verdict.Warnings)
}

// unreadable is the fault of a cron that cannot be read, with the error err. Our members go on with the last
// readable cron if no foreign member takes part.
func unreadable(v *protocol.View, j job.Config, err error) reason.Reason {
	if v.Shared() || len(v.Members) == 0 { // nobody goes on with an earlier one
		return reason.Of(reason.CronInvalid, err.Error())
	}
	for _, s := range slices.Backward(v.Past().Schedules) {
		if _, unread := schedule.Compile(s.Cron, j.Dialect, j.TimeZone); s.Cron != "" && unread == nil {
			return reason.Of(reason.CronInvalidGoesOn, strconv.Quote(s.Cron), err.Error())
		}
	}
	return reason.Of(reason.CronInvalid, err.Error())
}

// scheduleOver is the fault of a job that will not fire again; none if it will.
func scheduleOver(c job.Config) reason.Reason {
	s, err := schedule.Of(c)
	if c.Cron == "" || err != nil || !schedule.Over(s, time.Now()) {
		return reason.Reason{}
	}
	return reason.Of(reason.ScheduleOver, strconv.Quote(c.Cron))
}

// nextInstant is the next instant of a job; zero if there is none.
func nextInstant(c *job.Config) time.Time {
	if c == nil || c.Cron == "" {
		return time.Time{}
	}
	s, err := schedule.Of(*c)
	if err != nil {
		return time.Time{}
	}
	return s.Next(time.Now())
}
