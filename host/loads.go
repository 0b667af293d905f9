package host

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/wasmjob/wasmjob/host/internal/supply"
)

// JobFault is a job that a server would not run, and why.
type JobFault struct {
	Job string
	Key string // of the job, whose value has the fault, such as module; "" if it is not known
	Err error
}

// Loads loads the code of the jobs of the options as Run would, but in a temporary directory,
// and runs nothing. It returns, in the order of the options, the jobs that Run would refuse or
// that could not begin a run.
func Loads(ctx context.Context, o Options) (faults []JobFault, err error) {
	var refused map[string]string
	if o.DataDir != "" {
		o.Private = append(slices.Clip(o.Private), DataPrivate(o.DataDir)) // private although DataDir is replaced below
		if refused, err = RefusedModules(o.DataDir); err != nil {
			return nil, err
		}
	}
	if o.DataDir, err = os.MkdirTemp("", "wasmjobd-"); err != nil {
		return nil, failf(Internal, err, "create a directory for modules")
	}
	defer func() { err = errors.Join(err, os.RemoveAll(o.DataDir)) }()
	h, err := New(o)
	if err != nil {
		return nil, err
	}
	if err := h.openStore(); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, h.store.Close()) }()
	for _, j := range h.jobs {
		j.code = h.store.NewCode(j.config)
	}
	defer h.closeCode()
	for _, j := range h.jobs {
		fault := h.checkCode(ctx, j, refused)
		if ctx.Err() != nil {
			return nil, fmt.Errorf("load modules: %w", ctx.Err())
		}
		if fault != nil {
			f := JobFault{Job: j.config.Name, Err: fault}
			if of, ok := errors.AsType[*supply.KeyFault](fault); ok {
				f.Key = of.Key
			}
			faults = append(faults, f)
		}
	}
	return faults, nil
}

// checkCode loads the code of one job and returns why no run of it could begin. If the server
// already refuses a module because compiling it ended processes, checkCode does not compile it
// either. refused has the reasons for such modules by digest.
func (h *Host) checkCode(ctx context.Context, j *hosted, refused map[string]string) error {
	c := h.setDigests(ctx, j)
	for _, m := range []struct{ key, name, digest string }{
		{"module", c.Module, c.ModuleDigest}, {"strategy_module", c.StrategyModule, c.StrategyDigest},
	} {
		if why := refused[m.digest]; why != "" {
			return &supply.KeyFault{Key: m.key, Err: fmt.Errorf("module %s: %s", m.name, why)}
		}
	}
	return j.code.Check(ctx, c)
}
