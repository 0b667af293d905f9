package operator

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/internal/layout"
	"github.com/wasmjob/wasmjob/host/internal/layout/migration"
	"github.com/wasmjob/wasmjob/host/internal/removal"
	"github.com/wasmjob/wasmjob/host/registry"
)

// Move is the target of a migration.
type Move struct {
	To     string // a later layout; empty with Back
	Back   bool   // to the layout that it had before
	DryRun bool   // write nothing
}

// Migration is what Migrate has written, or would write.
type Migration struct {
	Job string `json:"job"`
	// From and To are layouts. They are the same if only remains of a migration are left to delete.
	From   string           `json:"from"`
	To     string           `json:"to"`
	DryRun bool             `json:"dry_run"`
	Notes  []string         `json:"notes"`          // what the layout cannot hold, each with its path or key
	Writes []MigrationWrite `json:"writes"`         // in their order
	Done   string           `json:"done,omitempty"` // why there is nothing to write
}

// MigrationWrite is one node that changes. Secrets are masked.
type MigrationWrite struct {
	Op    string `json:"op"` // create, set, delete, or renew: delete and create
	Path  string `json:"path"`
	Value string `json:"value"`
}

// Migrate moves a job that no member runs to a later layout, or back. A further call completes an
// interrupted migration, or takes it back. Once a member has joined the job, a further call deletes
// what was kept for the way back.
func (o *Operator) Migrate(ctx context.Context, name string, want Move) (*Migration, error) {
	var report *Migration
	sent := false   // a transaction had no answer, and may have been applied
	turned := false // one of these had the plan's Turn, which changes the layout
	begun := false  // something is written, so the fence of OnlyIf would fail
	for try := 1; ; try++ {
		p, err := o.planMove(ctx, name, want)
		if turned && (errors.Is(err, migration.ErrNone) || err == nil && !want.Back && len(p.Turn) == 0) {
			return report, nil // no turn is left to do, so that transaction was applied
		}
		if err != nil {
			return nil, err
		}
		if report == nil {
			report = reportMove(name, p)
		}
		var unchanged fence
		if !begun {
			if unchanged, err = o.unchanged(ctx, name, sent); err != nil {
				return nil, err
			}
		}
		if report.DryRun = want.DryRun || o.dry; want.DryRun || p.Done != "" {
			return report, nil
		}
		begun, err = o.carryOut(ctx, name, p, want, unchanged, begun)
		switch {
		case err == nil:
			return report, nil
		case errors.Is(err, registry.ErrTooLarge):
			return nil, failf(host.Refused, err, "migrate job %s: its configuration, its servers, and the states of items whose offset ElasticJob has changed since have to change in one transaction, and do not fit into it; delete the nodes of servers that are long gone", name)
		case try == askTries || !removal.MayPass(err):
			return nil, askError("migrate", name, err)
		}
		sent = sent || errors.Is(err, registry.ErrUnknown)
		turned = turned || errors.Is(err, registry.ErrUnknown) && len(p.Turn) > 0
	}
}

// unchanged checks a job by OnlyIf, and returns a fence that fails once the job has changed since; none
// without OnlyIf. sent is that of holds.
func (o *Operator) unchanged(ctx context.Context, name string, sent bool) (fence, error) {
	if o.onlyIf == nil {
		return nil, nil
	}
	v, l, f, err := o.presentView(ctx, "migrate", name, o.wholly)
	if err == nil {
		err = o.holds(ctx, l, name, v, sent)
	}
	return f, err
}

// moveReads is how often a job is read that cannot be migrated as it was read.
const moveReads = 3

// planMove syncs, reads the job, and plans what is left to do. Others may change the job while its nodes
// are read, which would look like half of each of two layouts. So a job that cannot be migrated is read
// again, until it was read twice without a difference.
func (o *Operator) planMove(ctx context.Context, name string, want Move) (*migration.Plan, error) {
	var before migration.Tree
	for try := 1; ; try++ {
		if err := o.session.Sync(ctx); err != nil {
			return nil, readError(err, "migrate job %s", name)
		}
		t, err := o.wholeTree(ctx, layout.NewJob(o.namespace, name).Root())
		if err != nil {
			return nil, readError(err, "look at job %s", name)
		}
		if !t[""].Exists {
			return nil, o.noJob(ctx, name)
		}
		var p *migration.Plan
		if want.Back {
			p, err = migration.Back(o.namespace, name, t)
		} else {
			p, err = migration.Forward(o.namespace, name, want.To, t)
		}
		switch {
		case err == nil:
			return p, nil
		case errors.Is(err, migration.ErrTarget):
			return nil, failf(host.Invalid, err, "migrate job %s", name)
		case t.Same(before):
			return nil, failf(host.Refused, err, "migrate job %s", name)
		case try == moveReads:
			return nil, failf(host.Refused, err, "migrate job %s, which others are changing", name)
		}
		before = t
	}
}

// wholeTree reads all nodes of a job, level by level. The tree has them by their paths below root; "" is root, which
// it has even if that does not exist.
func (o *Operator) wholeTree(ctx context.Context, root string) (migration.Tree, error) {
	t := migration.Tree{}
	for level := []string{""}; len(level) > 0; {
		paths := make([]string, len(level))
		for i, path := range level {
			if paths[i] = root; path != "" {
				paths[i] += "/" + path
			}
		}
		nodes, err := o.readAll(ctx, paths, readsAtOnce)
		if err != nil {
			return nil, err
		}
		var next []string
		for i, n := range nodes {
			if !n.Exists && level[i] != "" {
				continue // it was deleted meanwhile
			}
			t[level[i]] = n
			for _, c := range n.Children {
				if level[i] != "" {
					c = level[i] + "/" + c
				}
				next = append(next, c)
			}
		}
		level = next
	}
	return t, nil
}

// reportMove describes a plan for the job with a name.
func reportMove(name string, p *migration.Plan) *Migration {
	r := &Migration{Job: name, From: p.From, To: p.To, Notes: append([]string{}, p.Notes...), Writes: []MigrationWrite{}, Done: p.Done}
	for _, w := range p.Writes() {
		r.Writes = append(r.Writes, MigrationWrite{w.Op, w.Path, p.Masked(w)})
	}
	return r
}

// errReplan: the copies of a plan are written, and what follows has to be planned again by the nodes
// that exist by now.
var errReplan = fmt.Errorf("%w: in parts", registry.ErrConflict)

// carryOut writes a plan in one transaction if it fits, else in parts. The first transaction has the
// fence unchanged. It reports whether anything has been written, in this call or, with begun, before.
func (o *Operator) carryOut(ctx context.Context, name string, p *migration.Plan, want Move, unchanged fence, begun bool) (bool, error) {
	d := deed{verb: "job migrate", job: name, before: "layout " + p.From, after: "layout " + p.To}
	if want.Back {
		d.detail = "back"
	}
	err := o.commit(ctx, d, append(slices.Clip(unchanged), p.Ops()...)...)
	if !errors.Is(err, registry.ErrTooLarge) {
		return begun, err
	}
	if len(p.Copy) > 0 { // only the copies now: members may come meanwhile, so the turn is planned after them
		written, err := o.inParts(ctx, unchanged, p.Fence, p.Copy)
		if err == nil {
			err = errReplan
		}
		return begun || written, err
	}
	if err := o.commit(ctx, d, append(slices.Clip(unchanged), p.Turn...)...); err != nil {
		return begun, err
	}
	_, err = o.inParts(ctx, nil, p.Fence, p.Rest)
	return true, err
}

// partBytes is about the size of a part of a migration.
const partBytes = 128 << 10

// inParts applies operations in several transactions, the first one with the fence f, and each with
// the fence of a plan. It reports whether any was applied. After an error, a further migration completes
// the rest.
func (o *Operator) inParts(ctx context.Context, f, each fence, ops []registry.Op) (written bool, err error) {
	for ; len(ops) > 0; written = true {
		n, size := 0, 0
		for n < len(ops) && n < removal.AtOnce && (n == 0 || size+len(ops[n].Data) < partBytes) {
			size += len(ops[n].Path) + len(ops[n].Data)
			n++
		}
		if _, err := o.session.Commit(ctx, slices.Concat(f, each, ops[:n])...); err != nil {
			return written, err
		}
		f, ops = nil, ops[n:]
	}
	return written, nil
}
