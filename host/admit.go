package host

import (
	"fmt"
	"time"

	"github.com/wasmjob/wasmjob/host/internal/admission"
	"github.com/wasmjob/wasmjob/host/internal/schedule"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/reason"
)

// Unable returns the reasons why a server with these options cannot or must not run a job as the
// registry defines it. file is the job in the server's own file, or nil. Unable checks neither
// whether the module is available nor whether the job's foreign members prevent a run.
func (o *Options) Unable(j job.Config, file *job.Config) []reason.Reason {
	s := o.settings(j, file)
	s.Cron = schedule.Check(j, time.Now()) // an error, as is s.Strategy
	if _, err := o.strategy(j.Strategy); err != nil {
		s.Strategy = fmt.Errorf("strategy: %w", err)
	}
	return admission.Unable(&s)
}

// settings returns the settings of job j that package admission checks, before each run and for
// Unable. file is the job in the server's own file, or nil.
func (o *Options) settings(j job.Config, file *job.Config) admission.Settings {
	return admission.Settings{Job: j, File: file, Modules: o.Runner == nil, Violations: func() []reason.Reason { return o.violations(j.Allow) }}
}

// violations returns the grants of a registry job that exceed this server's grant limits.
func (o *Options) violations(a job.Allow) []reason.Reason {
	var all []reason.Reason
	for _, e := range o.Allow.Violations(a, o.private()) {
		all = append(all, e.Why)
	}
	return append(all, admission.Invalid(o.validateGrants(a))...)
}
