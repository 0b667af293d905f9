package operator

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/internal/layout"
	"github.com/wasmjob/wasmjob/host/internal/missed"
	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/internal/removal"
	"github.com/wasmjob/wasmjob/host/registry"
	"github.com/wasmjob/wasmjob/host/trace"
)

// wholeTries is how often Remove tries to delete a job in one transaction.
const wholeTries = 5

// Record gives the Operator a history. Before Remove deletes a job that no server runs,
// it stores the instants that the job has missed there. Use it for the registry inside a
// server. A registry that servers share has a history per server, and none is complete.
func (o *Operator) Record(to trace.Sink) { o.rows = to }

// recordMissed stores the missed instants of a job that is to be removed and has no server.
func (o *Operator) recordMissed(ctx context.Context, name string) error {
	if o.rows == nil || o.dry {
		return nil
	}
	l, err := o.found(ctx, name)
	if err != nil {
		return err
	}
	v, err := o.readView(ctx, l, l.Outline(), false)
	if err != nil {
		return readError(err, "look at job %s", name)
	}
	if !v.WithoutServer() { // the job's servers record them
		return nil
	}
	view := func(ctx context.Context) (*protocol.View, error) { return o.readJob(ctx, l, name) }
	var refused error
	j := missed.Job{
		Name: name, Layout: l, Registry: o.session, View: view, Removed: true,
		Refused: func(r trace.Row, err error) { refused = fmt.Errorf("item %d, run %s: %w", r.Item, r.Run, err) },
	}
	if _, err := j.Record(ctx, o.rows); err != nil {
		return askError("remove", name, err)
	}
	if refused != nil {
		return failf(host.Refused, refused, "the history takes no row of job %s; remove the job again to go on without that row", name)
	}
	return nil
}

// Remove deletes a job from the registry, with its configuration and the state of its
// guests. Rows of its runs stay in the histories; after Record, missed instants of a job
// without a server get a row. Servers that run the job stop it.
//
// Remove is refused while an item runs. Unless forced, it is also refused if the configuration
// cannot be read, since members may then go unseen, or if a file would create the job again: the
// file of a server that runs it, or one whose jobs Compare was given. Files of servers that are
// down are not known. If only the rest of an unfinished removal exists, Remove finishes it, unless
// OnlyIf is set, whose report needs a job.
func (o *Operator) Remove(ctx context.Context, name string, force bool) error {
	const what = "remove"
	if o.onlyIf == nil {
		if found, err := o.finishRemoval(ctx, name); found || err != nil {
			return err
		}
	}
	if !force {
		if err := o.refuseUnlessForced(ctx, name); err != nil {
			return err
		}
	}
	if o.onlyIf != nil { // before rows are stored
		if _, _, _, err := o.heldView(ctx, what, name, false); err != nil {
			return err
		}
	}
	if err := o.recordMissed(ctx, name); err != nil {
		return err
	}
	return o.removeJob(ctx, name)
}

// removeJob tries until the job is deleted, or the removal is refused.
func (o *Operator) removeJob(ctx context.Context, name string) error {
	const what = "remove"
	sent := false // a transaction that may have been applied
	for try := 1; ; try++ {
		err := o.removeNow(ctx, name, sent, try > wholeTries)
		switch {
		case sent && host.CodeOf(err) == host.NotFound: // the try without an answer has deleted its definition
			_, err = o.finishRemoval(ctx, name)
			return err
		case err == nil:
			return nil
		case try == askTries || !errors.Is(err, registry.ErrConflict) && !errors.Is(err, registry.ErrUnknown):
			return askError(what, name, err)
		default:
			sent = sent || errors.Is(err, registry.ErrUnknown)
		}
		if err := o.session.Sync(ctx); err != nil {
			return askError(what, name, err)
		}
		if sent { // that try may have deleted the definition, and left records of dead members
			if found, err := o.finishRemoval(ctx, name); found || err != nil {
				return err
			}
		}
		if n, err := o.session.Read(ctx, layout.NewJob(o.namespace, name).Root()); err == nil && !n.Exists {
			return nil // the transaction with the unknown outcome was applied
		}
	}
}

// removeNow is one try of removeJob. sent says that an earlier try may have been applied. parts makes it delete
// the job in several transactions, since it has changed during each of the earlier tries.
func (o *Operator) removeNow(ctx context.Context, name string, sent, parts bool) error {
	nodes, err := removal.Nodes(ctx, o.session, layout.NewJob(o.namespace, name).Root()) // nodes that are created later make the transaction fail
	if err != nil {
		return readError(err, "look at job %s", name)
	}
	v, l, f, err := o.heldView(ctx, "remove", name, sent)
	if err != nil {
		return err
	}
	recorded := o.rows != nil && v.WithoutServer() // open runs have their rows in o.rows
	for i := range v.Runs {
		if len(v.Runs[i].Open) > 0 && !recorded {
			return failf(host.Refused, nil, "remove job %s: %s runs items of it; pause the job and wait until they end", name, v.Runs[i].ID)
		}
	}
	d := deed{verb: "job remove", job: name, before: fmt.Sprintf("%d nodes", len(nodes))}
	return o.removeNodes(ctx, d, l, f, nodes, parts)
}

// heldView reads a job and checks it by OnlyIf. sent is that of holds.
func (o *Operator) heldView(ctx context.Context, what, name string, sent bool) (*protocol.View, layout.Layout, fence, error) {
	v, l, f, err := o.presentView(ctx, what, name, o.outlined)
	if err == nil {
		err = o.holds(ctx, l, name, v, sent)
	}
	return v, l, f, err
}

// removeNodes deletes all nodes in one transaction, so that no server sees half a job. If there are too many, or
// parts is set because they keep changing, it deletes the definition first, and then sweeps the rest. The
// transaction that deletes the definition also creates a mark, by which a later request finds an unfinished removal.
func (o *Operator) removeNodes(ctx context.Context, d deed, l layout.Layout, f fence, nodes []string, parts bool) error {
	if !parts {
		if err := o.commit(ctx, d, append(f, removal.Deletions(nodes)...)...); !errors.Is(err, registry.ErrTooLarge) {
			return err
		}
	}
	config, module, _ := l.Nodes()
	above, mark := l.Removal()
	for _, path := range []string{above, mark} {
		if !slices.Contains(nodes, path) {
			f = append(f, registry.Op{Kind: registry.Create, Path: path})
		}
	}
	first := slices.DeleteFunc(slices.Clone(nodes), func(path string) bool {
		return path != config && !strings.HasPrefix(path, config+"/") && path != module
	})
	if err := o.commit(ctx, d, append(f, removal.Deletions(first)...)...); err != nil || o.dry {
		return err
	}
	return o.sweep(ctx, l)
}
