package operator

import (
	"context"
	"errors"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/internal/definition"
	"github.com/wasmjob/wasmjob/host/internal/layout"
	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/job"
)

var verbApply = verb{"apply", "apply"}

// ApplyJob changes a job of the registry as a server with the job in its file does, and returns
// what Plan would have returned before. It creates a missing job as CreateJob does, and keeps the
// module of an existing one. read parses the text: one that names no layout means the Layout of text.
func (o *Operator) ApplyJob(ctx context.Context, text JobText, read func(JobText) (job.Config, error)) (Planned, error) {
	if err := o.resolveModule(ctx, &text); err != nil {
		return Planned{}, err
	}
	var err error
	if text.Layout, err = o.layoutNow(ctx, text.Name); err != nil {
		return Planned{}, err
	}
	c, err := read(text)
	if err != nil {
		return Planned{}, err
	}
	if text.Layout != "" && c.Layout != text.Layout {
		return Planned{}, failf(host.Refused, nil, "apply job %s: it is a job of layout %s, in the text one of layout %s: write layout = %q", c.Name, text.Layout, c.Layout, text.Layout)
	}
	p := Planned{Job: c.Name, Action: PlanNew, Keys: []PlannedKey{}, Overwrite: c.Overwrite}
	created := c
	c.ModuleDigest = "" // keep the registry's; only a new job gets the module of the text
	err = o.askBy(ctx, request{verb: verbApply, job: c.Name, wish: func(v *protocol.View) (protocol.Ask, deed, error) {
		l := layout.New(c.Layout, o.namespace, c.Name)
		merged := p.merge(l, v, l.Define(c))
		if p.Action == PlanUnread {
			return nil, deed{}, failf(host.Refused, nil, "apply job %s: its definition in the registry cannot be read: %s", c.Name, p.Fault)
		}
		if err := o.refuseCircle(ctx, verbApply.words, c.Name, definition.JobOf(c.Name, merged.Config, &merged.Module).After); err != nil {
			return nil, deed{}, err
		}
		ask := protocol.AskDefine{Have: v.ConfigVersion, HaveModule: protocol.NoModule} // refused if these have changed
		if v.HasModule {
			ask.HaveModule = v.ModuleVersion
		}
		var err error
		if ask.Definition, err = l.Spell(v.Definition, merged.Definition); err != nil {
			return nil, deed{}, failf(host.Invalid, err, "apply job %s", c.Name)
		}
		return ask, p.deed(), nil
	}})
	if e, ok := errors.AsType[*host.Error](err); ok && e.Code == host.NotFound && o.onlyIf == nil { // OnlyIf needs a job
		p.Action, p.Keys = PlanNew, []PlannedKey{}
		if err = o.create(ctx, created, text.Name); err == nil {
			p.Warning = o.warn(ctx, created, nil)
		}
	}
	return p, err
}

// layoutNow returns the layout of a job's configuration in the registry; "": there is none that can be read.
func (o *Operator) layoutNow(ctx context.Context, name string) (string, error) {
	err := o.session.Sync(ctx) // as presentView does
	if err != nil {
		return "", readError(err, "apply job %s", name)
	}
	v, l, err := o.readOutline(ctx, name, readsAtOnce)
	if err != nil {
		return "", readError(err, "apply job %s", name)
	}
	config, _ := l.Defined(v)
	if config == nil {
		return "", nil
	}
	return config.Facts().Layout, nil
}

// deed lists the settings that the file changes, for the audit: each with its former value and its new one.
func (p *Planned) deed() deed {
	var d deed
	for _, k := range p.Keys {
		if k.Fate == FateTaken {
			d.before += " " + k.Key + "=" + k.Registry
			d.after += " " + k.Key + "=" + k.File
		}
	}
	return d
}
