package operator

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/internal/definition"
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
	Reference string `json:"reference,omitempty"` // where it came from, for people
}

// ModulesReport lists the modules that the registry names for a job.
type ModulesReport struct {
	Now   *ModuleRef   `json:"now,omitempty"`  // nil: none
	Next  *ModuleRef   `json:"next,omitempty"` // replaces Now once every server has it; nil: none
	Past  []ModuleRef  `json:"past,omitempty"` // ran before, the newest last
	Waits []ModuleWait `json:"waits,omitempty"`
	// Pinned: Now stays until the pin is lifted.
	Pinned bool `json:"pinned,omitempty"`
	// Strategy assigns the items; nil: no module does.
	Strategy *ModuleRef `json:"strategy,omitempty"`
	// Unread: the node that names the job's modules cannot be read.
	Unread bool `json:"unreadable,omitempty"`
}

// ModuleWait is a server that does not have the next module ready.
type ModuleWait struct {
	ID    job.InstanceID `json:"instance"`
	Fault string         `json:"fault,omitempty"` // why it cannot use it; empty: no report yet
}

// BringModule uploads a module to the servers that run the job. They keep its bytes and
// do not run it yet. One upload is enough, since servers fetch modules from each other;
// faults has an error for each upload that failed. sign is the text of the module's signature, nil
// if it has none, and token is the peer token of the servers.
func (o *Operator) BringModule(ctx context.Context, name string, wasm, sign []byte, token string) (faults []error, err error) {
	const what = "bring a module to the servers of"
	if len(wasm) > module.MaxSize {
		return nil, failf(host.Invalid, nil, "the module has %d bytes, the limit is %d", len(wasm), module.MaxSize)
	}
	v, _, _, err := o.editableView(ctx, what, name, o.outlined)
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
		return nil, failf(host.Refused, nil, "%s job %s: none of its servers takes modules; set peer_listen and peer_token there", what, name)
	}
	m := peer.Module{Digest: module.Digest(wasm), Bytes: bytes.NewReader(wasm), Size: int64(len(wasm)), Signature: sign}
	for _, c := range uploadTo(ctx, m, addresses, token) {
		if c.err != nil {
			faults = append(faults, fmt.Errorf("server %.256q: %w", c.Address, c.err))
		}
	}
	if len(faults) == len(addresses) {
		return nil, failf(host.Unavailable, errors.Join(faults...), "%s job %s", what, name)
	}
	return faults, nil
}

// NextModule names the module that replaces the current one as soon as every server has
// it ready. Its Digest may be NAME@VERSION. An empty Name keeps the current name.
func (o *Operator) NextModule(ctx context.Context, name string, next ModuleRef) error {
	what := verb{"set the module of", "module set"}
	if IsVersion(next.Digest) {
		digest, err := o.Resolve(ctx, next.Digest)
		if err != nil {
			return err
		}
		next.Digest, next.Reference = digest, next.Digest
	}
	if err := module.CheckDigest(next.Digest); err != nil {
		return failf(host.Invalid, err, "%s job %s", what.words, name)
	}
	return o.amend(ctx, what, name, func(m *definition.Module) error {
		if err := unpinned(m, what, name); err != nil {
			return err
		}
		c := definition.Code(next)
		if c.Name == "" {
			c.Name = m.Code.Name
		}
		m.Replace(c)
		return nil
	})
}

// RollBack withdraws the next module if there is one. Otherwise it names an earlier
// module as the next: the newest whose digest begins with to, or the newest if to is
// empty. The prefix sha256: of to is optional. RollBack returns the module that the job will
// run, and whether it runs it already. With an error, back is the step that was tried, if any.
func (o *Operator) RollBack(ctx context.Context, name, to string) (back ModuleRef, runs bool, err error) {
	by := verb{"roll back the module of", "module rollback"}
	r := rollBack{job: name, to: strings.TrimPrefix(to, "sha256:")}
	if to != "" && r.to == "" {
		return back, false, failf(host.Invalid, nil, "%s job %s: no digit of a digest is in %q", by.words, name, to)
	}
	err = o.amend(ctx, by, name, func(m *definition.Module) (err error) {
		if err := unpinned(m, by, name); err != nil {
			return err
		}
		back, runs, err = r.decide(m)
		return err
	})
	return back, runs, err
}

// PinModule keeps the module that a job runs: no file of a server, no NextModule and no
// RollBack replaces it until UnpinModule. It is refused while another module is to come.
func (o *Operator) PinModule(ctx context.Context, name string) error {
	return o.setPinned(ctx, verb{"pin the module of", "module pin"}, name, true)
}

// UnpinModule lifts a pin. The file of a server counts again once the server restarts or the file
// changes.
func (o *Operator) UnpinModule(ctx context.Context, name string) error {
	return o.setPinned(ctx, verb{"unpin the module of", "module unpin"}, name, false)
}

// setPinned is PinModule or UnpinModule.
func (o *Operator) setPinned(ctx context.Context, by verb, name string, pinned bool) error {
	return o.amend(ctx, by, name, func(m *definition.Module) error {
		if pinned && m.Next != nil {
			return failf(host.Refused, nil, "%s job %s: module %s is to come; wait for it, or take it back with module rollback", by.words, name, m.Next.Digest)
		}
		m.Pinned = pinned
		return nil
	})
}

// pinnedText describes a pin in the audit.
func pinnedText(m *definition.Module) string {
	if m.Pinned {
		return ", pinned"
	}
	return ""
}

// unpinned refuses to replace a pinned module.
func unpinned(m *definition.Module, by verb, name string) error {
	if !m.Pinned {
		return nil
	}
	return failf(host.Refused, nil, "%s job %s: its module %s is pinned; run module unpin %s first", by.words, name, m.Code.Digest, name)
}

// rollBack is one step back. It is decided again after a try with an unknown outcome,
// and must not become two steps.
type rollBack struct {
	job, to          string
	withdrawn, named string // digests of the last try: the module that it withdrew, or named
}

// decide changes m, unless m shows that the last try was applied. It returns the module that the job will run,
// and whether it runs it already.
func (r *rollBack) decide(m *definition.Module) (back ModuleRef, runs bool, err error) {
	switch {
	case r.withdrawn != "" && m.Next == nil && m.Code.Digest != r.withdrawn: // not if the job has switched to it meanwhile
		return ModuleRef(*m.Code), true, nil
	case r.named != "" && m.Wanted().Digest == r.named:
		return ModuleRef(*m.Wanted()), m.Next == nil, nil
	case r.to == "" && m.Next != nil:
		r.withdrawn, r.named = m.Next.Digest, ""
		m.Next = nil
		return ModuleRef(*m.Code), true, nil
	}
	for _, c := range slices.Backward(m.Past) {
		if strings.HasPrefix(c.Digest, r.to) {
			r.withdrawn, r.named = "", c.Digest
			m.Replace(c)
			return ModuleRef(c), false, nil
		}
	}
	if r.to != "" {
		return back, false, failf(host.NotFound, nil, "roll back the module of job %s: no module that ran before has a digest that begins with %q", r.job, r.to)
	}
	return back, false, failf(host.Refused, nil, "roll back the module of job %s: no module is known that ran before", r.job)
}

// WithdrawModule withdraws the next module if it has this digest, even if the outcome of
// NextModule is unknown.
func (o *Operator) WithdrawModule(ctx context.Context, name, digest string) error {
	what := verb{"take the next module back from", "module withdraw"}
	if err := o.session.Sync(ctx); err != nil { // NextModule's transaction may still be on its way
		return readError(err, "%s job %s", what.words, name)
	}
	return o.amend(ctx, what, name, func(m *definition.Module) error {
		if m.Next != nil && m.Next.Digest == digest {
			m.Next = nil
		}
		return nil
	})
}

// amend changes the modules that the registry names for a job. It calls change again if the job has changed
// meanwhile. by is the verb in errors and in the audit.
func (o *Operator) amend(ctx context.Context, by verb, name string, change func(*definition.Module) error) error {
	what := by.words
	wish := func(v *protocol.View) (a protocol.Ask, d deed, err error) {
		if !v.HasModule {
			return nil, d, failf(host.Refused, nil, "%s job %s: no server of ours has ever run it", what, name)
		}
		m, err := spelling.ModuleOf(v)
		if err != nil {
			return nil, d, failf(host.Refused, err, "%s job %s: its module node in the registry cannot be read", what, name)
		}
		if m.Code == nil {
			return nil, d, failf(host.Refused, nil, "%s job %s: it runs no module", what, name)
		}
		d.before = codeText(m.Wanted()) + pinnedText(&m)
		if err := change(&m); err != nil {
			return nil, d, err
		}
		d.after = codeText(m.Wanted()) + pinnedText(&m)
		spelled, err := spelling.SpellModule(m)
		if err != nil {
			return nil, d, failf(host.Refused, err, "%s job %s", what, name)
		}
		return protocol.AskDefine{Definition: protocol.Definition{Config: v.Definition.Config, Module: spelled}, Have: v.ConfigVersion, HaveModule: v.ModuleVersion}, d, nil
	}
	return o.askBy(ctx, request{verb: by, job: name, wish: wish})
}

// codeText is a module as the audit names it.
func codeText(c *definition.Code) string { return c.Name + " " + c.Digest }

// awaiting begins the errors of AwaitModule.
const awaiting = "wait for the module of"

// Awaited reports whether the job runs the module with the digest. It returns an error
// if there is nothing to wait for: another module was named, or the job has no member.
func (r *ModulesReport) Awaited(name, digest string, members int) (runs bool, err error) {
	switch {
	case r.Now != nil && r.Now.Digest == digest:
		return true, nil
	case r.Next == nil || r.Next.Digest != digest:
		return false, failf(host.Refused, nil, "%s job %s: another module was named meanwhile", awaiting, name)
	case members == 0:
		return false, failf(host.Refused, nil, "%s job %s: no server runs it", awaiting, name)
	}
	return false, nil
}

// AwaitModule waits until the job runs the module with the digest. It calls report once
// for each server that cannot use the module. It returns an error when ctx ends, when
// another module is named, and when the job has no member left.
func (o *Operator) AwaitModule(ctx context.Context, name, digest string, report func(ModuleWait)) error {
	const what = awaiting
	l, err := o.found(ctx, name)
	if err != nil {
		return err
	}
	if err := o.session.Follow(ctx, l.Root()); err != nil {
		return readError(err, "%s job %s", what, name)
	}
	reported := map[ModuleWait]bool{}
	for {
		v, err := o.readView(ctx, l, l.Definers(), false)
		if err != nil {
			return readError(err, "%s job %s", what, name)
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

// modulesOf reports on the modules of a job; m is nil if the view has no readable ones.
func modulesOf(v *protocol.View, m *definition.Module) ModulesReport {
	var r ModulesReport
	if m == nil {
		r.Unread = v.HasModule
		return r
	}
	r.Pinned = m.Pinned
	r.Now, r.Next, r.Strategy = (*ModuleRef)(m.Code), (*ModuleRef)(m.Next), (*ModuleRef)(m.Strategy)
	for _, c := range m.Past {
		r.Past = append(r.Past, ModuleRef(c))
	}
	if m.Next == nil {
		return r
	}
	for _, member := range v.Members {
		switch ready := member.Ready; {
		case ready.Digest != m.Next.Digest: // the member has not reported on the next module
			r.Waits = append(r.Waits, ModuleWait{ID: member.ID})
		case ready.Fault != "":
			r.Waits = append(r.Waits, ModuleWait{ID: member.ID, Fault: ready.Fault})
		}
	}
	return r
}
