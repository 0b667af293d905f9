package operator

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/internal/layout"
	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/registry"
)

// verb names a request, in the words of errors and as a command.
type verb struct{ words, command string }

var verbTrigger = verb{"trigger", "job trigger"}

// request is what an operator asks of a job.
type request struct {
	verb verb
	job  string
	// about has the kind and subject of the request, so that only the nodes that decide it are
	// read; nil: the whole job is read.
	about protocol.Ask
	// wish returns the request to the core, and its audit row. It is called again if the job
	// has changed meanwhile.
	wish func(*protocol.View) (protocol.Ask, deed, error)
	once *once // nil: no idempotency key
	// also returns operations that are written in the same transaction; nil: there are none.
	also func(context.Context) ([]registry.Op, error)
	// direct replaces wish if the core has no such request: it returns the transaction.
	direct func(*protocol.View, layout.Layout) ([]registry.Op, deed, error)
	single bool // a repeat may take effect twice, so a try with an unknown outcome is not repeated
}

// ask writes a request that does not depend on the view of the job.
func (o *Operator) ask(ctx context.Context, what verb, name string, a protocol.Ask) error {
	return o.askBy(ctx, request{verb: what, job: name, about: a, wish: func(*protocol.View) (protocol.Ask, deed, error) { return a, deedOf(a), nil }})
}

// deedOf is the audit row of a request, without verb and job.
func deedOf(a protocol.Ask) deed {
	switched := func(detail string, disabled bool) deed {
		if disabled {
			return deed{detail: detail, before: "enabled", after: "disabled"}
		}
		return deed{detail: detail, before: "disabled", after: "enabled"}
	}
	switch a := a.(type) {
	case protocol.AskItem:
		return switched("item="+strconv.Itoa(a.Item), a.Disabled)
	case protocol.AskServer:
		return switched("server="+a.IP, a.Disabled)
	case protocol.AskPause:
		if a.Paused {
			return deed{detail: detailOf(a.Pause), before: "running", after: "paused"}
		}
		return deed{before: "paused", after: "running"}
	default:
		return deed{}
	}
}

// detailOf describes a pause in the audit.
func detailOf(p protocol.Pause) string {
	var all []string
	if p.Until != 0 {
		all = append(all, "until="+time.UnixMilli(p.Until).UTC().Format(time.RFC3339))
	}
	if p.Why != "" {
		all = append(all, "reason="+p.Why)
	}
	return strings.Join(all, " ")
}

// askBy writes a request that depends on the view. If the job changes meanwhile, it reads a new view and calls
// wish again. It does the same after a try with an unknown outcome, unless the request could take effect twice.
func (o *Operator) askBy(ctx context.Context, r request) error {
	what, name := r.verb.words, r.job
	sent := false // a transaction that may have been applied
	for try := 1; ; try++ {
		v, l, f, err := o.editableView(ctx, what, name, o.decidedBy(r.about))
		if e, ok := errors.AsType[*host.Error](err); ok && sent && e.Code == host.Unavailable { // an earlier try may have succeeded
			return failf(host.Unknown, e.Err, "%s", e.Msg)
		}
		if err != nil {
			return err
		}
		ops, d, err := o.opsOf(ctx, r, v, l, sent)
		if err != nil || len(ops) == 0 { // without ops there is nothing to do
			return err
		}
		err = o.commit(ctx, d, append(append(f, o.unless...), ops...)...)
		// A trigger that is asked for twice may run twice, unless it has a key.
		repeatable := r.verb != verbTrigger && !r.single || r.once != nil
		switch {
		case err == nil:
			return nil
		case errors.Is(err, registry.ErrConflict) && try < askTries: // the job has changed: read it again
		case errors.Is(err, registry.ErrUnknown) && repeatable && try < askTries:
			sent = true
			if r.once != nil {
				r.once.unsure = true
			}
			if err := o.session.Sync(ctx); err != nil {
				return failf(host.Unknown, err, "%s job %s", what, name)
			}
		default:
			return askError(what, name, err)
		}
	}
}

// opsOf is the transaction that fulfils a request on a view, and its audit row. It is empty if there is
// nothing to do. sent says that an earlier try may have been applied.
func (o *Operator) opsOf(ctx context.Context, r request, v *protocol.View, l layout.Layout, sent bool) ([]registry.Op, deed, error) {
	what, name := r.verb.words, r.job
	var ops []registry.Op
	if r.once != nil {
		var err error
		if ops, err = r.once.ops(ctx, o, name); err != nil || r.once.again { // again: an earlier request has done it
			return nil, deed{}, err
		}
	}
	if r.also != nil {
		more, err := r.also(ctx)
		if err != nil {
			return nil, deed{}, err
		}
		ops = append(ops, more...)
	}
	if r.direct != nil {
		more, d, err := r.direct(v, l)
		d.verb, d.job = r.verb.command, name
		if err == nil {
			err = o.holds(ctx, l, name, v, sent)
		}
		return append(ops, more...), d, err
	}
	a, d, err := r.wish(v)
	if err != nil {
		return nil, d, err
	}
	d.verb, d.job = r.verb.command, name
	if err := o.holds(ctx, l, name, v, sent); err != nil {
		return nil, d, err
	}
	m, fault := protocol.Fulfil(v, a)
	switch {
	case fault != "":
		return nil, d, failf(host.Refused, nil, "%s job %s: %s", what, name, fault)
	case m == nil:
		return ops, d, nil
	}
	does := l.Encode(m, v)
	if !v.Parents.Assignment {
		if is := oursAlone(m, v); is != "" {
			return nil, d, failf(host.Refused, nil, "%s job %s: no server of ours has ever run it, and foreign members do not support %s", what, name, is)
		}
		does = does[:len(does)-1] // the last operation sets the node `wasm`, which is missing
	}
	return append(does, ops...), d, nil
}

// oursAlone names what foreign members do not support of a mutation; "": they support it. Such a change
// must not be written while no server of ours would act on it.
func oursAlone(m protocol.Mutation, v *protocol.View) string {
	if _, pause := m.(protocol.SetPaused); pause {
		return "pauses"
	}
	if _, item := m.(protocol.DisableItem); item && v.ByAddress {
		return "disabled items"
	}
	return ""
}
