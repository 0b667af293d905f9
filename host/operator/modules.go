package operator

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/internal/definition"
	"github.com/wasmjob/wasmjob/host/internal/layout"
	"github.com/wasmjob/wasmjob/host/internal/layout/spelling"
	"github.com/wasmjob/wasmjob/host/internal/module"
	"github.com/wasmjob/wasmjob/host/internal/peer"
	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/job"
)

// ModuleRef names a module.
type ModuleRef struct {
	Name      string `json:"name"`
	Digest    string `json:"digest"`
	Reference string `json:"reference,omitempty"` // where it was taken from, for people
}

// ModulesReport is which modules the registry names for a job.
type ModulesReport struct {
	Now   *ModuleRef   `json:"now,omitempty"`  // nil: none
	Next  *ModuleRef   `json:"next,omitempty"` // which takes its place when every server has it; nil: none
	Past  []ModuleRef  `json:"past,omitempty"` // that ran before, the newest last
	Waits []ModuleWait `json:"waits,omitempty"`
}

// ModuleWait is a server for which the next module waits.
type ModuleWait struct {
	ID    job.InstanceID `json:"instance"`
	Fault string         `json:"fault,omitempty"` // why it cannot have it; empty: it has not said yet
}

// bringing is how many servers are given a module at once.
const bringing = 4

// BringModule gives a module to the servers that run the job, which keep its
// bytes and run nothing of it yet. Those that do not take it get it from the
// others, so it is enough that one does; faults says what became of them. token
// is that which servers share.
func (o *Operator) BringModule(ctx context.Context, name string, wasm []byte, token string) (faults []error, err error) {
	const what = "bring a module to the servers of"
	if len(wasm) > module.MaxSize {
		return nil, failf(host.Invalid, nil, "the module has %d bytes, the limit is %d", len(wasm), module.MaxSize)
	}
	v, _, err := o.view(ctx, what, name)
	if err != nil {
		return nil, err
	}
	var addresses []string
	for _, m := range v.Members {
		if m.Address != "" && !slices.Contains(addresses, m.Address) {
			addresses = append(addresses, m.Address)
		}
	}
	switch {
	case len(v.Members) == 0:
		return nil, failf(host.Refused, nil, "%s job %s: no server runs it", what, name)
	case len(addresses) == 0:
		return nil, failf(host.Refused, nil, "%s job %s: none of them takes modules; they need peer_listen and peer_token", what, name)
	}
	c := peer.NewClient(peer.ClientOptions{Token: token})
	defer c.Close()
	brought := make([]error, len(addresses))
	var all errgroup.Group
	all.SetLimit(bringing)
	for i, a := range addresses {
		all.Go(func() error {
			if err := c.Upload(ctx, wasm, a); err != nil {
				brought[i] = fmt.Errorf("server %.256q: %w", a, err)
			}
			return nil
		})
	}
	_ = all.Wait() // faults are in brought
	faults = slices.DeleteFunc(brought, func(err error) bool { return err == nil })
	if len(faults) == len(addresses) {
		return nil, failf(host.Unavailable, errors.Join(faults...), "%s job %s", what, name)
	}
	return faults, nil
}

// NextModule names the module that is to take the place of the one that the job
// has, as soon as every server has it ready. What Name leaves open stays.
func (o *Operator) NextModule(ctx context.Context, name string, next ModuleRef) error {
	const what = "set the module of"
	if err := module.CheckDigest(next.Digest); err != nil {
		return failf(host.Invalid, err, "%s job %s", what, name)
	}
	return o.amend(ctx, what, name, func(m *definition.Module) error {
		c := definition.Code(next)
		if c.Name == "" {
			c.Name = m.Code.Name
		}
		m.Replace(c)
		return nil
	})
}

// RollBack takes the next module back, if one is awaited; else it names the one
// that ran before as the next. to is the beginning of the digest of an older one;
// empty: the newest. It tells what the job runs then, and whether it does
// already; with an error, which step was tried, if it came to that.
func (o *Operator) RollBack(ctx context.Context, name, to string) (back ModuleRef, runs bool, err error) {
	r := rollBack{job: name, to: to}
	err = o.amend(ctx, "roll back the module of", name, func(m *definition.Module) (err error) {
		back, runs, err = r.decide(m)
		return err
	})
	return back, runs, err
}

// rollBack is a step back. It may be decided anew after a try whose outcome is
// not known, and must not become two.
type rollBack struct {
	job, to     string
	gone, named string // digests of the last try: what it took back, or named
}

// decide changes what the registry says, unless it says already what the last try
// was to make of it.
func (r *rollBack) decide(m *definition.Module) (back ModuleRef, runs bool, err error) {
	switch {
	case r.gone != "" && m.Next == nil && m.Code.Digest != r.gone:
		return ModuleRef(*m.Code), true, nil
	case r.named != "" && m.Wanted().Digest == r.named:
		return ModuleRef(*m.Wanted()), m.Next == nil, nil
	case r.to == "" && m.Next != nil:
		r.gone, r.named = m.Next.Digest, ""
		m.Next = nil
		return ModuleRef(*m.Code), true, nil
	}
	for _, c := range slices.Backward(m.Past) {
		if strings.HasPrefix(c.Digest, r.to) {
			r.gone, r.named = "", c.Digest
			m.Replace(c)
			return ModuleRef(c), false, nil
		}
	}
	if r.to != "" {
		return back, false, failf(host.NotFound, nil, "roll back the module of job %s: none that ran before begins with %q", r.job, r.to)
	}
	return back, false, failf(host.Refused, nil, "roll back the module of job %s: none is known that ran before", r.job)
}

// WithdrawModule takes the next module back, if it is the one with this digest,
// also where the outcome of naming it was not known.
func (o *Operator) WithdrawModule(ctx context.Context, name, digest string) error {
	const what = "take the next module back from"
	if err := o.session.Sync(ctx); err != nil { // what was asked for may be on its way
		return unread(err, "%s job %s", what, name)
	}
	return o.amend(ctx, what, name, func(m *definition.Module) error {
		if m.Next != nil && m.Next.Digest == digest {
			m.Next = nil
		}
		return nil
	})
}

// amend changes what the registry says of a job's modules.
func (o *Operator) amend(ctx context.Context, what, name string, change func(*definition.Module) error) error {
	return o.askBy(ctx, what, name, func(v *protocol.View) (protocol.Ask, error) {
		if !v.Dirs.Module {
			return nil, failf(host.Refused, nil, "%s job %s: no server of ours has ever run it", what, name)
		}
		m, err := spelling.ModuleOf(v)
		if err != nil {
			return nil, failf(host.Refused, err, "%s job %s: what the registry says of its module cannot be read", what, name)
		}
		if m.Code == nil {
			return nil, failf(host.Refused, nil, "%s job %s: it runs no module", what, name)
		}
		if err := change(&m); err != nil {
			return nil, err
		}
		spelled, err := spelling.SpellModule(m)
		if err != nil {
			return nil, failf(host.Refused, err, "%s job %s", what, name)
		}
		return protocol.AskDefine{Definition: protocol.Definition{Config: v.Definition.Config, Module: spelled}, Have: v.ConfigVersion, HaveModule: v.ModuleVersion}, nil
	})
}

const awaiting = "wait for the module of"

// Awaited tells whether the job of that name runs the module with the digest. The
// error is that nobody waits for it any more: somebody names another module, or
// of the servers that are members none is left.
func (r *ModulesReport) Awaited(name, digest string, members int) (runs bool, err error) {
	switch {
	case r.Now != nil && r.Now.Digest == digest:
		return true, nil
	case r.Next == nil || r.Next.Digest != digest:
		return false, failf(host.Refused, nil, "%s job %s: somebody has decided otherwise meanwhile", awaiting, name)
	case members == 0:
		return false, failf(host.Refused, nil, "%s job %s: no server runs it", awaiting, name)
	}
	return false, nil
}

// AwaitModule waits until the job runs the module with the digest. It calls report
// once for each server that cannot have it. It ends with an error when ctx does,
// when somebody names another module, and when no server is left to wait for.
func (o *Operator) AwaitModule(ctx context.Context, name, digest string, report func(ModuleWait)) error {
	const what = awaiting
	l := layout.NewJob(o.namespace, name)
	if err := o.session.Follow(ctx, l.Root()); err != nil {
		return unread(err, "%s job %s", what, name)
	}
	reported := map[ModuleWait]bool{}
	for {
		v, err := o.gather(ctx, l, l.Definers(), false, readsAtOnce)
		if err != nil {
			return unread(err, "%s job %s", what, name)
		}
		_, module := l.Defined(v)
		r := modulesOf(v, module)
		if runs, err := r.Awaited(name, digest, len(v.Members)); runs || err != nil {
			return err
		}
		for _, w := range r.Waits {
			if w.Fault != "" && !reported[w] {
				reported[w] = true
				report(w)
			}
		}
		select {
		case <-o.inbox.News():
		case <-ctx.Done():
			return failf(host.Unavailable, ctx.Err(), "%s job %s: not every server has it", what, name)
		}
	}
}

// modulesOf is what a view says of a job's modules, as far as it can be read.
func modulesOf(v *protocol.View, m *definition.Module) ModulesReport {
	var r ModulesReport
	if m == nil {
		return r
	}
	r.Now, r.Next = (*ModuleRef)(m.Code), (*ModuleRef)(m.Next)
	for _, c := range m.Past {
		r.Past = append(r.Past, ModuleRef(c))
	}
	if m.Next == nil {
		return r
	}
	for _, member := range v.Members {
		switch ready := member.Ready; {
		case ready.Digest != m.Next.Digest:
			r.Waits = append(r.Waits, ModuleWait{ID: member.ID})
		case ready.Fault != "":
			r.Waits = append(r.Waits, ModuleWait{ID: member.ID, Fault: ready.Fault})
		}
	}
	return r
}
