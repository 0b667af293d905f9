package sandbox

import (
	"context"
	"time"

	"github.com/wasmjob/wasmjob/host/job"
)

// Room returns an error if no run of the module could ever have its memory for a job: the
// job's limit is below the module's initial memory, or the budget is too small.
func (e *Engine) Room(m *Module, c job.Config) error {
	// This run only computes its limits. It never begins.
	in, err := newRun(&job.Call{Config: c}, m.compiled, time.Now()).newInstance()
	if err != nil {
		return err
	}
	return e.budget.checkNeed(in.memoryCost())
}

// Opens returns an error if a directory that the job is granted cannot be opened now.
func (e *Engine) Opens(ctx context.Context, m *Module, c job.Config) error {
	// This run only has the grants of the job. It never begins.
	in, err := newRun(&job.Call{Config: c}, m.compiled, time.Now()).newInstance()
	if err != nil {
		return err
	}
	_, closeDirs, err := openGrantedDirs(ctx, in)
	if err == nil {
		closeDirs()
	}
	return err
}
