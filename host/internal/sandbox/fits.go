package sandbox

import (
	"context"
	"time"

	"github.com/wasmjob/wasmjob/host/job"
)

// Fits returns an error if no run of the module could start for a job: the job's
// memory limit is below the module's initial memory, the budget is too small, or a
// granted directory cannot be opened.
func (e *Engine) Fits(ctx context.Context, m *Module, c job.Config) error {
	in, err := newRun(job.Call{Config: c}, m.compiled, time.Now()).newInstance()
	if err != nil {
		return err
	}
	if err := e.budget.checkNeed(in.memoryCost()); err != nil {
		return err
	}
	_, closeDirs, err := openGrantedDirs(ctx, in.allow.Dirs, e, in.files)
	if err == nil {
		closeDirs()
	}
	return err
}
