package migration

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/wasmjob/wasmjob/host/internal/layout/jobtree"
	"github.com/wasmjob/wasmjob/host/internal/layout/spelling"
	"github.com/wasmjob/wasmjob/host/internal/layout/v21"
)

// ErrNone is the error of Back for a job without a migration to take back.
var ErrNone = errors.New("there is no migration to take back")

// Back plans to return a job to the layout that it had before its migration. If the
// migration was interrupted before it changed the layout, Back plans to delete what it has
// copied. It returns ErrNone if there is neither.
func Back(namespace, name string, t Tree) (*Plan, error) {
	t = t.linked()
	mark, err := t.mark()
	if err != nil {
		return nil, err
	}
	is, err := t.layout(mark)
	if err != nil {
		return nil, err
	}
	job := v21.NewJob(namespace, name) // it masks values of 2.0 as well
	root := job.Root()
	switch {
	case mark == nil && byServer(is):
		p := &Plan{From: is, To: is, job: job}
		if p.sweepCopies(root, t, t.ours()); len(p.Rest) == 0 {
			return nil, ErrNone
		}
		return p, nil
	case mark == nil:
		return nil, ErrNone
	case mark.To != is || targets[is] == nil:
		return nil, fmt.Errorf("%s tells of layout %s, and it is of layout %s", jobtree.NodeMigration, mark.To, is)
	case t.joined():
		return nil, errors.New("a member has joined it since the migration, so it stays")
	}
	if err := t.atRest(); err != nil {
		return nil, err
	}
	want := t.restored(mark)
	if err := unchanged(namespace, name, t, want, mark); err != nil {
		return nil, err
	}
	p := &Plan{From: is, To: mark.From, job: job}
	if byServer(mark.From) {
		// Turn leaves the copies. They are deleted after it, in as many transactions as that
		// takes, since members of the former layout do not read them.
		now := maps.Clone(want)
		for path, n := range t {
			if path != jobtree.NodeMigration && within(path, copies(mark.Ours)...) {
				now[path] = n
			}
		}
		p.change(root, t, now)
		p.sweepCopies(root, now, mark.Ours)
		return p, nil
	}
	if len(t[jobtree.NodeWasm].Children) == 1 { // it is the mark of the migration: no server of ours has ever run it
		want = want.without(jobtree.NodeWasm)
	}
	p.change(root, t, want)
	return p, nil
}

// restored returns the tree as it was before the migration m: without what it has added,
// and with the values that it has kept.
func (t Tree) restored(m *spelling.Migration) Tree {
	old := t.without(append(slices.Clone(m.Added), jobtree.NodeMigration, jobtree.NodeConfig, jobtree.NodeServers)...)
	if byServer(m.From) {
		old = old.without(append(copies(m.Ours), jobtree.NodeInstances)...)
	}
	for path, data := range m.Nodes {
		old.put(path, []byte(data))
	}
	return old
}

// unchanged returns an error if the job has been changed since its migration, because going
// back would lose the change. To find out, it plans the migration of old, the tree before
// it, again, and compares the result with the present tree, t.
func unchanged(namespace, name string, t, old Tree, mark *spelling.Migration) error {
	_, again, err := forward(namespace, name, mark.To, old)
	if err != nil {
		return fmt.Errorf("%s: what it was cannot be read: %w", jobtree.NodeMigration, err)
	}
	both := maps.Clone(t)
	maps.Copy(both, again)
	for _, path := range both.paths() {
		if a, b := t[path], again[path]; a.Exists != b.Exists || !bytes.Equal(a.Data, b.Data) {
			return fmt.Errorf("%s has changed since the migration, which would be lost: undo that, or let the job run where it is", path)
		}
	}
	return nil
}
