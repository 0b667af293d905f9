package host

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/wasmjob/wasmjob/host/internal/admission"
	"github.com/wasmjob/wasmjob/host/internal/schedule"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/reason"
)

// Unable is what of a job, as the registry has it, a server with these options cannot
// or must not carry out; none: it can run the job, if members of ElasticJob let it.
// file is the job in the server's own file; nil if it is not there. Whether the job's
// module can be had is not looked at.
func (o *Options) Unable(j job.Config, file *job.Config) []reason.Reason {
	s := o.settings(j, file)
	s.Cron = schedule.Check(j, time.Now())
	if _, err := o.strategy(j.Strategy); err != nil {
		s.Strategy = fmt.Errorf("strategy: %w", err)
	}
	return admission.Unable(&s)
}

// settings are the facts about a job's settings that each run depends on.
func (o *Options) settings(j job.Config, file *job.Config) admission.Settings {
	return admission.Settings{Job: j, File: file, Modules: o.Runner == nil, Violations: func() []reason.Reason { return o.violations(j.Allow) }}
}

// violations are what a job asks for and this server does not grant to jobs that
// others define.
func (o *Options) violations(a job.Allow) []reason.Reason {
	var all []reason.Reason
	for _, e := range o.Allow.Violations(a, o.private()) {
		all = append(all, e.Why)
	}
	return append(all, admission.Invalid(o.validateGrants(a))...)
}

// refusal is an error with a line for each reason.
func refusal(all []reason.Reason) error {
	lines := make([]string, len(all))
	for i, why := range all {
		lines[i] = why.WithHint()
	}
	return errors.New(strings.Join(lines, "\n"))
}
