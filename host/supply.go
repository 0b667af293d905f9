package host

import (
	"context"
	"errors"
	"runtime"
	"slices"

	"github.com/wasmjob/wasmjob/host/internal/admission"
	"github.com/wasmjob/wasmjob/host/internal/signature"
	"github.com/wasmjob/wasmjob/host/internal/supply"
	"github.com/wasmjob/wasmjob/host/job"
)

// openStore opens the store that supplies the jobs' code.
func (h *Host) openStore() (err error) {
	o := &h.o
	keys, err := signature.ParseKeys(o.ModuleKeys)
	if err != nil {
		return failf(Invalid, err, "keys of modules")
	}
	if h.store, err = supply.Open(supply.Options{
		DataDir: o.DataDir, Files: filesOf(o.Modules), Pull: o.pull(), Keys: keys, Runner: o.Runner, Commands: o.commands,
		Namespace: o.Namespace, Secrets: o.Secrets, PrivateHosts: o.PrivateHosts,
		Compiler: o.Compiler, Memory: o.Memory, Dirs: o.dirs(), Private: o.private(), Refused: o.refusedModule, Compiled: o.compiledModule,
		Listen: o.Peers.Listen, Address: o.Peers.Address, IP: o.Instance.IP(), Token: o.Peers.Token,
		Refuse: o.refuse, Log: o.Log,
	}); err != nil {
		return failf(Internal, err, "data directory %s", o.DataDir)
	}
	return nil
}

// pull returns the function with which the store fetches artifacts.
func (o *Options) pull() supply.Pull {
	if o.Pull == nil {
		return nil
	}
	return func(ctx context.Context, reference string) (supply.Artifact, error) {
		a, err := o.Pull(ctx, reference)
		return supply.Artifact(a), err
	}
}

// filesOf converts modules to the store's type.
func filesOf(modules map[string]Module) map[string]supply.File {
	files := make(map[string]supply.File, len(modules))
	for name, m := range modules {
		files[name] = supply.File(m)
	}
	return files
}

// dirs returns the directories below which the sandbox may grant directories. nil allows any,
// for an embedder that grants directories without setting limits.
func (o *Options) dirs() []job.Dir {
	granted := slices.ContainsFunc(o.Jobs, func(c job.Config) bool { return len(c.Allow.Dirs) > 0 })
	if len(o.Allow.Dirs) == 0 && granted {
		return nil
	}
	dirs := make([]job.Dir, len(o.Allow.Dirs)) // empty, not nil, without any
	for i, t := range o.Allow.Dirs {
		dirs[i] = job.Dir{Host: t.Path, Write: t.Write}
	}
	return dirs
}

// refuse returns why this server must not run a job with this configuration.
func (o *Options) refuse(j job.Config, file *job.Config) error {
	s := o.settings(j, file)
	if refused := admission.Refused(&s); len(refused) > 0 {
		return admission.Refusal(refused)
	}
	return nil
}

// loadModules starts to load the code of all jobs and returns when one job can run. The others
// are loaded meanwhile, so a large module delays only its own job. A job whose code is refused
// begins as well: each of its fires leaves a row that says why. loadModules returns an error if
// no job can run.
func (h *Host) loadModules(ctx context.Context) error {
	if len(h.jobs) == 0 {
		return nil
	}
	reads := make(chan struct{}, runtime.GOMAXPROCS(0)) // bounds how many files are read at the same time
	loaded := make(chan error, len(h.jobs))
	for _, j := range h.jobs {
		h.loading.Go(func() {
			defer close(j.loaded)
			c := h.readBy(ctx, j, reads)
			loaded <- h.loadCode(ctx, j, c)
		})
	}
	if h.o.Discover {
		return nil // a job of the registry may be able to run
	}
	var faults []error
	for range h.jobs {
		fault := <-loaded
		if fault == nil || ctx.Err() != nil { // this job can run
			return nil //nolint:nilerr // cancelled, not failed
		}
		faults = append(faults, fault)
	}
	all := errors.Join(faults...)
	kind := Invalid
	if isSystemError(all) {
		kind = Internal // a new attempt may succeed
	}
	return failf(kind, all, "no job can run")
}

// readBy calls setDigests. It holds one of the slots meanwhile, which bound how many jobs read
// files, unless it may have to wait for a registry of artifacts.
func (h *Host) readBy(ctx context.Context, j *hosted, slots chan struct{}) job.Config {
	for _, name := range []string{j.config.Module, j.config.StrategyModule} {
		if f, _ := h.store.File(name); f.Artifact != "" {
			return h.setDigests(ctx, j)
		}
	}
	slots <- struct{}{}
	defer func() { <-slots }()
	return h.setDigests(ctx, j)
}

// setDigests reads the modules of a job, sets their digests in its configuration, and returns
// that.
func (h *Host) setDigests(ctx context.Context, j *hosted) job.Config {
	c := *j.config
	if h.o.Runner == nil && c.Module != "" {
		c.ModuleDigest = h.store.Digest(ctx, c.Module)
	}
	if h.o.Runner == nil && c.StrategyModule != "" {
		c.StrategyDigest = h.store.Digest(ctx, c.StrategyModule)
	}
	h.mu.Lock()
	*j.config = c
	h.mu.Unlock()
	return c
}

// loadCode loads the code of one job. The sandbox decides in which order modules are compiled.
func (h *Host) loadCode(ctx context.Context, j *hosted, c job.Config) error {
	if err := j.code.Load(ctx, c); err != nil {
		return failf(Invalid, err, "job %s is refused", c.Name)
	}
	return nil
}

// closeCode releases the code of all jobs, whose runs have ended.
func (h *Host) closeCode() {
	for _, j := range h.jobs {
		j.code.Close()
	}
}

// prefetch starts to load the code of a changed job, before its next run needs it.
func (h *Host) prefetch(j *hosted, c job.Config) {
	if j.code.Ready(c) {
		return
	}
	h.finder.Alongside(func() { h.loadChanged(j, c) })
}

// loadChanged loads the code of a job for its new configuration c. A job that cannot run as it is
// now goes on as a member, and its runs fail.
func (h *Host) loadChanged(j *hosted, c job.Config) {
	if err := j.code.Load(h.running, c); err != nil {
		h.o.Log.Error("the job cannot run here as it is now", "job", c.Name, "error", err)
	}
}
