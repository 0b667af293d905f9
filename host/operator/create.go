package operator

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/internal/layout"
	"github.com/wasmjob/wasmjob/host/internal/layout/clustertree"
	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/internal/session"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/reason"
	"github.com/wasmjob/wasmjob/host/registry"
)

// JobText is a job as a person writes it.
type JobText struct {
	Name string `json:"name"`
	// TOML is a configuration with the table of the job. Other tables are ignored.
	TOML   string `json:"toml"`
	Digest string `json:"digest"` // SHA-256 of the module, which the servers have, in hex; or NAME@VERSION
	// Layout is the job's layout in the registry, for a text that names none; "": the registry does not have the job.
	Layout string `json:"-"`
}

// Unheld returns a warning if no server is known to have a module, else "".
type Unheld func(ctx context.Context, digest string) (warning string)

// WarnOf makes CreateJob and ApplyJob warn of new jobs whose module no server has.
func (o *Operator) WarnOf(unheld Unheld) { o.unheld = unheld }

// CreateJob adds a job to the registry that no server's file has: servers that discover jobs there run
// it as soon as they have its module. read parses the text. The warning is about a module that no
// server has (see WarnOf), and about missing jobs after which it runs. In a dry run, the job's Deed has
// the warning, too.
func (o *Operator) CreateJob(ctx context.Context, text JobText, read func(JobText) (job.Config, error)) (warning string, err error) {
	if err := o.resolveModule(ctx, &text); err != nil {
		return "", err
	}
	c, err := read(text)
	if err != nil {
		return "", err
	}
	if err := o.create(ctx, c, text.Name); err != nil {
		return "", err
	}
	return o.warn(ctx, c, o.missing(ctx, c.After)), nil
}

// missing returns a warning for each job that the registry does not have. A failed read is a warning,
// too, since the new job is created already.
func (o *Operator) missing(ctx context.Context, after []string) (why []string) {
	for _, name := range after {
		v, _, err := o.readOutline(ctx, name, readsAtOnce)
		switch {
		case err != nil:
			return append(why, "cannot tell whether the jobs exist after which it runs: "+err.Error())
		case v.Config == nil && v.ConfigFault == "":
			why = append(why, reason.Of(reason.AfterGone, strconv.Quote(name)).String())
		}
	}
	return why
}

// warn joins all that keeps a new job from running into one warning.
func (o *Operator) warn(ctx context.Context, c job.Config, why []string) string {
	if o.unheld != nil {
		why = append(why, o.unheld(ctx, c.ModuleDigest))
	}
	why = slices.DeleteFunc(why, func(one string) bool { return one == "" })
	warning := strings.Join(why, "; ")
	if o.dry {
		o.deeds[len(o.deeds)-1].Warning = warning
	}
	return warning
}

// create creates a job with a configuration, or returns an error if it exists. name is the one in the request,
// for errors.
func (o *Operator) create(ctx context.Context, c job.Config, name string) error {
	const what = "create"
	if err := creatable(c); err != nil {
		return failf(host.Invalid, err, "%s job %s", what, name)
	}
	if err := o.refuseCircle(ctx, what, c.Name, c.After); err != nil {
		return err
	}
	swept, err := o.finishRemoval(ctx, c.Name) // or the job would inherit the state of a removed one
	if err != nil {
		return err
	}
	l := layout.New(c.Layout, o.namespace, c.Name)
	v, err := o.readView(ctx, l, l.Watched(), true)
	if err != nil {
		return readError(err, "%s job %s", what, c.Name)
	}
	if v.Exists && (!swept || !o.dry) { // a dry run leaves the rest of a removed job there
		return failf(host.Refused, nil, "%s job %s: the registry has it already; change its file, or remove it first", what, c.Name)
	}
	spelled, err := l.Spell(protocol.Definition{}, l.Define(c))
	if err != nil {
		return failf(host.Invalid, err, "%s job %s", what, c.Name)
	}
	if !o.dry {
		if err := session.CreateMissing(ctx, o.session, l.Namespace()); err != nil {
			return readError(err, "%s job %s", what, c.Name)
		}
	}
	err = o.commit(ctx, deed{verb: "job create", job: c.Name, detail: "module=" + c.ModuleDigest}, l.Encode(protocol.Setup{Definition: spelled}, v)...)
	switch {
	case errors.Is(err, registry.ErrConflict):
		return failf(host.Refused, err, "%s job %s: it has just been created", what, c.Name)
	case err != nil:
		return failf(host.CodeOf(err), err, "%s job %s", what, c.Name)
	}
	return nil
}

// resolveModule replaces NAME@VERSION by a digest.
func (o *Operator) resolveModule(ctx context.Context, text *JobText) (err error) {
	if IsVersion(text.Digest) {
		text.Digest, err = o.Resolve(ctx, text.Digest)
	}
	return err
}

// creatable refuses jobs that no server could discover and run.
func creatable(c job.Config) error {
	switch {
	case c.Command != "":
		return errors.New("no server runs a command that its own file does not have; write the job there")
	case c.StrategyModule != "":
		return errors.New("a module that assigns the items has to be in a file; write the job there")
	case c.ModuleDigest == "":
		return errors.New("name its module by the digest that module push prints")
	}
	for _, err := range []error{clustertree.CheckJob(c.Name), c.Validate()} {
		if err != nil {
			return err
		}
	}
	return layout.Check(c)
}
