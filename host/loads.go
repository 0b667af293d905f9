package host

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
)

// JobFault is why a server would not run a job.
type JobFault struct {
	Job string
	Err error
}

// Loads loads what the jobs of the options run as Run would, in a directory of
// its own, and runs and keeps nothing. It tells which jobs Run would refuse, and
// of which no run could begin, in the order of the options.
func Loads(ctx context.Context, o Options) (faults []JobFault, err error) {
	var refused map[string]string
	if o.DataDir != "" {
		o.Private = append(slices.Clip(o.Private), DataPrivate(o.DataDir))
		if refused, err = RefusedModules(o.DataDir); err != nil {
			return nil, err
		}
	}
	if o.DataDir, err = os.MkdirTemp("", "wasmjobd-"); err != nil {
		return nil, failf(Internal, err, "make room for modules")
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
	defer h.dismiss()
	for _, j := range h.jobs {
		fault := h.fits(ctx, j, refused)
		if ctx.Err() != nil {
			return nil, fmt.Errorf("load modules: %w", ctx.Err())
		}
		if fault != nil {
			faults = append(faults, JobFault{j.config.Name, fault})
		}
	}
	return faults, nil
}

// fits loads what one job runs, and tells why no run of it could begin. What the
// server refuses since compiling it ended processes is not compiled here either.
func (h *Host) fits(ctx context.Context, j *hosted, refused map[string]string) error {
	c := h.identified(j)
	for name, digest := range map[string]string{c.Module: c.ModuleDigest, c.StrategyModule: c.StrategyDigest} {
		if why := refused[digest]; why != "" {
			return fmt.Errorf("module %s: %s", name, why)
		}
	}
	return j.code.Check(ctx, c)
}
