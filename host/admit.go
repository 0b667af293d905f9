package host

import (
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/wasmjob/wasmjob/host/internal/schedule"
	"github.com/wasmjob/wasmjob/host/job"
)

// Admit tells why a server with these options would not run a job as the registry
// has it; nil if it would. file is the job in the server's own file; nil if it is
// not there. Whether the job's module can be had is not looked at.
func (o *Options) Admit(j job.Config, file *job.Config) error {
	if file != nil {
		return errors.Join(schedule.Check(j, time.Now()), o.grants(j, file))
	}
	faults := []error{j.Validate(), schedule.Check(j, time.Now())}
	// Of a job of ElasticJob its own members may know the strategy.
	if _, err := o.strategy(j.Strategy); err != nil && j.Class == "" {
		faults = append(faults, fmt.Errorf("strategy: %w", err))
	}
	if o.Runner == nil && j.ModuleDigest == "" && j.Command == "" {
		faults = append(faults, errors.New("nobody has said the digest of its module"))
	}
	return errors.Join(append(faults, o.grants(j, nil))...)
}

// grants tells what of a job's wishes this server must not grant. What the server's
// own file grants the job is granted; what somebody else asks for it is held
// against the ceiling.
func (o *Options) grants(j job.Config, file *job.Config) error {
	if j.Command != "" && (file == nil || j.Command != file.Command) {
		return errors.New("a command of the operating system is taken from the server's own file alone")
	}
	if file != nil && reflect.DeepEqual(plain(j.Allow), plain(file.Allow)) {
		return nil
	}
	var faults []error
	for _, e := range o.Allow.Excess(j.Allow, o.private()) {
		faults = append(faults, e)
	}
	return errors.Join(append(faults, o.validateGrants(j.Allow))...)
}

// plain is a with one way to say that nothing is granted.
func plain(a job.Allow) job.Allow {
	if len(a.Dirs) == 0 {
		a.Dirs = nil
	}
	if len(a.Env) == 0 {
		a.Env = nil
	}
	if len(a.Secrets) == 0 {
		a.Secrets = nil
	}
	if len(a.HTTP) == 0 {
		a.HTTP = nil
	}
	return a
}
