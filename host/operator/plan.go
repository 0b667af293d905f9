package operator

import (
	"cmp"
	"context"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/internal/definition"
	"github.com/wasmjob/wasmjob/host/internal/layout"
	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/reason"
)

// What a file does to a job.
const (
	PlanNew     = "new"     // the registry does not have it
	PlanSame    = "same"    // the file changes nothing
	PlanChanges = "changes" // the file changes it
	PlanOther   = "other"   // only the registry has it
	PlanUnread  = "unread"  // its definition in the registry cannot be read, and Fault says why
)

// Planned is what a server does to a job of the registry when it reads a file.
type Planned struct {
	Job    string       `json:"job"`
	Action string       `json:"action"`
	Keys   []PlannedKey `json:"keys"` // by name
	// Overwrite: the file wins wherever the two differ.
	Overwrite bool   `json:"overwrite"`
	Fault     string `json:"fault,omitempty"`
	Warning   string `json:"warning,omitempty"` // of ApplyJob, for a job that it created
}

// PlannedKey is a setting in which file and registry differ.
type PlannedKey struct {
	Key      string `json:"key"`
	Registry string `json:"registry,omitempty"` // empty: it has none
	File     string `json:"file,omitempty"`
	Fate     string `json:"fate"`
}

// The fates of a setting.
const (
	FateTaken    = "taken"    // the file's value goes into the registry
	FateDrift    = "drift"    // the registry was changed after the file was applied, and stays
	FateDisputed = "disputed" // both have changed, and the registry stays
	// FateOlder: the file's value was applied before, and another file was applied since. The
	// registry stays, but ApplyJob writes the file's value.
	FateOlder = "older"
)

// Plan returns what a server with the options as changes in the registry when it reads its file,
// and where the registry has drifted from the file. It writes nothing. Modules are left out,
// since a server first looks for their bytes. Jobs are sorted by name.
func (o *Operator) Plan(ctx context.Context, as host.Options) ([]Planned, error) {
	as = as.WithDefaults()
	files := as.Jobs
	names, err := o.Names(ctx)
	if err != nil {
		return nil, err
	}
	rest := map[string]bool{} // names that no file has
	for _, name := range names {
		rest[name] = true
	}
	all := make([]Planned, len(files))
	jobs, within := errgroup.WithContext(ctx)
	jobs.SetLimit(readsAtOnce)
	for i := range files {
		all[i] = Planned{Job: files[i].Name, Action: PlanNew, Keys: []PlannedKey{}, Overwrite: files[i].Overwrite}
		if !rest[files[i].Name] {
			continue
		}
		delete(rest, files[i].Name)
		jobs.Go(func() (err error) {
			all[i], err = o.planned(within, &as, files[i])
			return err
		})
	}
	if err := jobs.Wait(); err != nil {
		return nil, err //nolint:wrapcheck // its functions return our errors
	}
	for name := range rest {
		all = append(all, Planned{Job: name, Action: PlanOther, Keys: []PlannedKey{}}) //nolint:makezero // all has the jobs of the files
	}
	slices.SortFunc(all, func(a, b Planned) int { return cmp.Compare(a.Job, b.Job) })
	return all, nil
}

// planned compares one job of a server's file with the registry.
func (o *Operator) planned(ctx context.Context, as *host.Options, file job.Config) (Planned, error) {
	p := Planned{Job: file.Name, Action: PlanSame, Keys: []PlannedKey{}, Overwrite: file.Overwrite}
	v, l, err := o.readOutline(ctx, file.Name, readsEach(len(as.Jobs)))
	switch {
	case err != nil:
		return p, readError(err, "compare job %s with the registry", file.Name)
	case !isJob(v):
		p.Action = PlanNew
		return p, nil
	}
	p.merge(l, v, filed(as, l, file))
	if slices.ContainsFunc(p.Keys, func(k PlannedKey) bool { return k.Fate == FateOlder }) {
		p.keepOlder(l, v, file)
	}
	return p, nil
}

// keepOlder makes older keys disputed if ApplyJob would not write them, because they were changed in the registry,
// too. It compares as ApplyJob does: without what the server remembers of its file.
func (p *Planned) keepOlder(l layout.Layout, v *protocol.View, file job.Config) {
	var applied Planned
	applied.merge(l, v, l.Define(file))
	for i, k := range p.Keys {
		if k.Fate == FateOlder && !slices.Contains(applied.Keys, PlannedKey{k.Key, k.Registry, k.File, FateTaken}) {
			p.Keys[i].Fate = FateDisputed
		}
	}
}

// filed returns the definition of a job in a server's file, with what the server remembers of the file that it
// has applied before. So the merge can distinguish a changed file from a changed registry.
func filed(as *host.Options, l layout.Layout, file job.Config) definition.Definition {
	d := l.Define(file)
	if said := as.Applied(file.Name); said != nil && d.Recall(said) != nil {
		return l.Define(file) // the server, too, takes the file as new then
	}
	return d
}

// merge compares a job of a file with the registry, by the same rule by which a server merges the two. It sets the
// Action, the Keys and the Fault of p, and returns what the server would write.
func (p *Planned) merge(l layout.Layout, v *protocol.View, file definition.Definition) (merged definition.Merged) {
	p.Action, p.Keys, p.Fault = PlanSame, []PlannedKey{}, ""
	config, module := l.Defined(v)
	if config == nil {
		p.Action, p.Fault = PlanUnread, cmp.Or(v.ConfigFault, reason.Of(reason.ConfigGone).String())
		return merged
	}
	merged, fault := definition.Merge(file, config, module)
	if fault != nil {
		p.Action, p.Fault = PlanUnread, fault.Error()
		return merged
	}
	merged.Module.Made = module == nil || !module.Applied() // no server has the job in its file; for ApplyJob
	for fate, keys := range map[string][]definition.Dispute{FateTaken: merged.Taken, FateDrift: merged.Drifted, FateDisputed: merged.Disputed} {
		for _, k := range keys {
			fate := fate
			if k.Older {
				fate = FateOlder
			}
			p.Keys = append(p.Keys, PlannedKey{k.Key, k.Registry, k.File, fate})
		}
	}
	slices.SortFunc(p.Keys, func(a, b PlannedKey) int { return cmp.Compare(a.Key, b.Key) })
	if len(merged.Taken) > 0 {
		p.Action = PlanChanges
	}
	return merged
}
