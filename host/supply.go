package host

import (
	"context"
	"errors"
	"runtime"
	"slices"

	"github.com/wasmjob/wasmjob/host/internal/admission"
	"github.com/wasmjob/wasmjob/host/internal/supply"
	"github.com/wasmjob/wasmjob/host/job"
)

// openStore opens what supplies the jobs with code.
func (h *Host) openStore() (err error) {
	o := &h.o
	if h.store, err = supply.Open(supply.Options{
		DataDir: o.DataDir, Files: filesOf(o.Modules), Runner: o.Runner, Commands: o.commands,
		Namespace: o.Namespace, Secrets: o.Secrets, PrivateHosts: o.PrivateHosts,
		Compiler: o.Compiler, Memory: o.Memory, Dirs: o.dirs(), Private: o.private(), Refused: o.refusedModule,
		Listen: o.Peers.Listen, Address: o.Peers.Address, IP: o.Instance.IP(), Token: o.Peers.Token,
		Refuse: o.refuse, Log: o.Log,
	}); err != nil {
		return failf(Internal, err, "data directory %s", o.DataDir)
	}
	return nil
}

func filesOf(modules map[string]Module) map[string]supply.File {
	files := make(map[string]supply.File, len(modules))
	for name, m := range modules {
		files[name] = supply.File(m)
	}
	return files
}

// dirs are the directories from which the sandbox opens what is granted. An
// embedder that grants directories without limits has none.
func (o *Options) dirs() []job.Dir {
	granted := slices.ContainsFunc(o.Jobs, func(c job.Config) bool { return len(c.Allow.Dirs) > 0 })
	if len(o.Allow.Dirs) == 0 && granted {
		return nil
	}
	dirs := make([]job.Dir, len(o.Allow.Dirs)) // not nil: that would be any
	for i, t := range o.Allow.Dirs {
		dirs[i] = job.Dir{Host: t.Path, Write: t.Write}
	}
	return dirs
}

// refuse tells why this server must not run a job as it is now.
func (o *Options) refuse(j job.Config, file *job.Config) error {
	s := o.settings(j, file)
	if refused := admission.Refused(&s); len(refused) > 0 {
		return refusal(refused)
	}
	return nil
}

// equip begins to load the modules of the jobs, and returns when one job can run.
// The rest goes on beside the jobs that run, so that one large module holds up
// its own job alone. A job that this server cannot run the code of fires all the
// same: each fire leaves a row that says why. The error is that nothing at all
// can run.
func (h *Host) equip(ctx context.Context) error {
	if len(h.jobs) == 0 {
		return nil
	}
	reads := make(chan struct{}, runtime.GOMAXPROCS(0)) // one for each file that is being read
	tried := make(chan error, len(h.jobs))
	for _, j := range h.jobs {
		h.loading.Go(func() {
			defer close(j.tried)
			reads <- struct{}{}
			c := h.identified(j)
			<-reads
			tried <- h.load(ctx, j, c)
		})
	}
	if h.o.Discover {
		return nil // there may be others
	}
	var faults []error
	for range h.jobs {
		fault := <-tried
		if fault == nil || ctx.Err() != nil {
			return nil //nolint:nilerr // that modules were not loaded is nobody's fault then
		}
		faults = append(faults, fault)
	}
	all := errors.Join(faults...)
	kind := Invalid
	if ofTheSystem(all) {
		kind = Internal // another time it may work
	}
	return failf(kind, all, "no job can run")
}

// identified is a job with the digests of its modules, which it keeps.
func (h *Host) identified(j *hosted) job.Config {
	c := *j.config
	h.identify(&c)
	h.mu.Lock()
	*j.config = c
	h.mu.Unlock()
	return c
}

// load loads the modules of one job. The sandbox decides in which order.
func (h *Host) load(ctx context.Context, j *hosted, c job.Config) error {
	if err := j.code.Load(ctx, c); err != nil {
		return failf(Invalid, err, "job %s is refused", c.Name)
	}
	return nil
}

// identify gives a job of the server's own file the digests of its modules, as
// far as they can be told.
func (h *Host) identify(c *job.Config) {
	if h.o.Runner != nil {
		return
	}
	if c.Module != "" {
		c.ModuleDigest = h.store.Digest(c.Module)
	}
	if c.StrategyModule != "" {
		c.StrategyDigest = h.store.Digest(c.StrategyModule)
	}
}

// dismiss lets go of what the jobs hold.
func (h *Host) dismiss() {
	for _, j := range h.jobs {
		j.code.Close()
	}
}

// prefetch prepares the code of a changed job before its next run needs it.
func (h *Host) prefetch(j *hosted, c job.Config) {
	if j.code.Ready(c) {
		return
	}
	h.discovery.alongside(func() { h.prepare(j, c) })
}

// prepare prepares the code of a job that runs.
func (h *Host) prepare(j *hosted, c job.Config) {
	if err := j.code.Load(h.discovery.ctx, c); err != nil {
		h.o.Log.Error("the job cannot run here as it is now", "job", c.Name, "error", err)
	}
}
