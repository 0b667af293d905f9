package operator

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/internal/layout"
	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/internal/status"
	"github.com/wasmjob/wasmjob/host/registry"
)

// wasmNode is set by every transaction of ours that changes a job.
const wasmNode = "wasm"

// OnlyIf makes the next write to a job conditional: it happens only if holds returns no error
// for a report on the job, and no member or operator of ours changes the job between that
// report and the write. The verb returns the error of holds as it is.
func (o *Operator) OnlyIf(holds func(*JobReport) error) { o.onlyIf = holds }

// newFence returns a fence that fails once one of ours has changed the job. Call it before the view for OnlyIf is
// read, so that no change between the two goes unseen. It returns none without OnlyIf, or if no server of ours
// has run the job.
func (o *Operator) newFence(ctx context.Context, l layout.Layout) (fence, error) {
	if o.onlyIf == nil {
		return nil, nil
	}
	n, err := o.session.Read(ctx, l.At(wasmNode))
	if err != nil || !n.Exists {
		return nil, err
	}
	return fence{{Kind: registry.Check, Path: l.At(wasmNode), Version: n.Stat.Version}}, nil
}

// holds checks a view by OnlyIf, if that is set. sent says that a try of the same write had no answer: then the
// view may show that write.
func (o *Operator) holds(ctx context.Context, l layout.Layout, name string, v *protocol.View, sent bool) error {
	if o.onlyIf == nil {
		return nil
	}
	r, err := o.wholeReport(ctx, l, name, v)
	if err == nil {
		err = o.onlyIf(r)
	}
	if err != nil && sent {
		return failf(host.Unknown, err, "job %s has changed since, maybe by this request", name)
	}
	return err
}

// editionOf is the Edition of a report: a hash of the definition with the versions of its nodes, the pause, and
// the disabled servers and items.
func editionOf(v *protocol.View) string {
	hash := sha256.New()
	say := func(what ...any) { _, _ = fmt.Fprintf(hash, "%q\n", what) } // a hash returns no errors
	for i, part := range []protocol.Spelled{v.Definition.Config, v.Definition.Module} {
		text := ""
		if part != nil {
			text = part.String()
		}
		say(text, []protocol.Version{v.ConfigVersion, v.ModuleVersion}[i])
	}
	say(v.Paused, v.Pause)
	for _, s := range v.Servers {
		if s.Disabled {
			say("server", s.IP)
		}
	}
	for _, it := range status.Items(v) {
		if it.Disabled {
			say("item", it.Item)
		}
	}
	return hex.EncodeToString(hash.Sum(nil)[:16])
}
