package host

import (
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
