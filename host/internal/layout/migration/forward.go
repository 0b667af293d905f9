package migration

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"unicode/utf8"

	"github.com/wasmjob/wasmjob/host/internal/layout"
	"github.com/wasmjob/wasmjob/host/internal/layout/jobtree"
	"github.com/wasmjob/wasmjob/host/internal/layout/spelling"
	"github.com/wasmjob/wasmjob/host/internal/layout/v21"
	"github.com/wasmjob/wasmjob/host/internal/layout/v3"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/registry"
)

// targets are the layouts that a job can be moved to.
var targets = map[string]func(namespace, name string) jobtree.Job{job.Layout21: v21.NewJob, job.Layout3: v3.NewJob}

// ErrTarget is the error of Forward for a layout that no job can be moved to.
var ErrTarget = errors.New("no target of a migration")

// moving is the move of a job to a layout.
type moving struct {
	root, name string
	from, to   string
	job        jobtree.Job // in the target layout
	tree       Tree
	want       Tree
	notes      []string
}

// Forward plans the move of a job to a layout. If the job already has that layout, and a
// member has joined, it plans to delete what was kept for going back.
func Forward(namespace, name, to string, t Tree) (*Plan, error) {
	p, _, err := forward(namespace, name, to, t)
	return p, err
}

// forward is Forward. It also returns the intended tree.
func forward(namespace, name, to string, t Tree) (*Plan, Tree, error) {
	of, ok := targets[to]
	if !ok {
		return nil, nil, fmt.Errorf("%w: jobs are moved to layout %s or %s, not to %.20q", ErrTarget, job.Layout21, job.Layout3, to)
	}
	m := moving{name: name, to: to, job: of(namespace, name), tree: t.linked()}
	m.root = m.job.Root()
	mark, err := m.tree.mark()
	if err != nil {
		return nil, nil, err
	}
	if m.from, err = m.tree.layout(mark); err != nil {
		return nil, nil, err
	}
	switch {
	case m.from == to:
		return m.settle(mark), m.tree, nil
	case slices.Index(order, m.from) > slices.Index(order, to): // to an older layout
		return nil, nil, fmt.Errorf("it is of layout %s, and a job is moved to a later layout only; --back takes a migration back", m.from)
	case mark != nil:
		return nil, nil, fmt.Errorf("it came from layout %s, and what is kept to go back is still there; once a member has joined, migrate it --to %s again, which deletes that", mark.From, m.from)
	}
	if err := m.tree.atRest(); err != nil {
		return nil, nil, err
	}
	if err := m.move(); err != nil {
		return nil, nil, err
	}
	kept, err := m.kept()
	if err != nil {
		return nil, nil, err
	}
	m.want.put(jobtree.NodeMigration, spelling.EncodeMigration(kept))
	p := &Plan{From: m.from, To: to, Notes: m.notes, job: m.job, Fence: []registry.Op{
		{Kind: registry.Absent, Path: at(m.root, jobtree.NodeMigration)},
		{Kind: registry.Check, Path: at(m.root, jobtree.NodeConfig), Version: m.tree[jobtree.NodeConfig].Stat.Version}, // it is gone once the job is removed
	}}
	p.change(m.root, m.tree, m.want)
	return p, m.want, nil
}

// mark returns the migration that was kept for going back; nil if there is none. It refuses
// one that names other nodes than a migration writes, since Back would write them.
func (t Tree) mark() (*spelling.Migration, error) {
	m, err := spelling.DecodeMigration(t[jobtree.NodeMigration])
	if err != nil {
		return nil, fmt.Errorf("%s: expected a migration: %w", jobtree.NodeMigration, err)
	}
	if m == nil {
		return nil, nil
	}
	for path := range m.Nodes {
		if !spelledAnew(path) && path != jobtree.NodeAssignment && !within(path, jobtree.NodeItems) {
			return nil, fmt.Errorf("%s: %.200q is no node that a migration keeps", jobtree.NodeMigration, path)
		}
	}
	for _, path := range m.Added {
		if path != jobtree.NodePaused && path != jobtree.NodeAssignment && !within(path, jobtree.NodeItems) {
			return nil, fmt.Errorf("%s: %.200q is no node that a migration adds", jobtree.NodeMigration, path)
		}
	}
	return m, nil
}

// spelledAnew reports whether a migration may rewrite the node, because the layouts spell
// it differently.
func spelledAnew(path string) bool {
	return path == "" || within(path, jobtree.NodeConfig, jobtree.NodeServers)
}

// kept returns what is kept for going back: the rewritten nodes and, if servers of ours
// have run the job, those of our nodes that change or are added.
func (m *moving) kept() (spelling.Migration, error) {
	ours := byServer(m.from) && m.tree.ours()
	all := spelling.Migration{From: m.from, To: m.to, Nodes: map[string]string{}, Ours: ours}
	for path, n := range m.tree {
		changes := ours && within(path, jobtree.NodeWasm) && !bytes.Equal(n.Data, m.want[path].Data)
		if !spelledAnew(path) && !changes {
			continue
		}
		if all.Nodes[path] = string(n.Data); !utf8.Valid(n.Data) {
			return all, fmt.Errorf("%s: expected a text in UTF-8, or it could not be kept to go back", path)
		}
	}
	for _, path := range m.want.paths() {
		if !m.tree[path].Exists && ours && within(path, jobtree.NodeWasm) {
			all.Added = append(all.Added, path)
		}
	}
	return all, nil
}

// joined reports whether a member has registered since the migration, which created the
// node of instances anew.
func (t Tree) joined() bool { return t[jobtree.NodeInstances].Stat.ChildVersion > 0 }

// settle plans to delete what was kept for going back, for a job that has the layout
// already. It plans nothing if that is deleted, or if no member has joined yet, so that the
// way back is still open.
func (m *moving) settle(mark *spelling.Migration) *Plan {
	p := &Plan{From: m.from, To: m.to, job: m.job}
	switch {
	case mark == nil:
		p.Done = "it is of layout " + m.to + " already"
	case !m.tree.joined():
		p.Done = "it is of layout " + m.to + " now, and nothing has run since; --back takes that back"
	default:
		p.Fence = []registry.Op{{Kind: registry.Check, Path: at(m.root, jobtree.NodeMigration), Version: m.tree[jobtree.NodeMigration].Stat.Version}}
		p.sweep(m.root, m.tree, append(slices.Clone(left), jobtree.NodeMigration)...)
	}
	return p
}

// move makes the intended tree. Nodes of servers, instances and keys go, since layouts
// spell them differently. What the intended layout needs of them is put there again.
func (m *moving) move() error {
	m.want = m.tree.without(jobtree.NodeServers, jobtree.NodeInstances)
	if byServer(m.from) {
		m.want = m.want.without(copies(m.tree.ours())...) // an interruption may have left them
	}
	maps.DeleteFunc(m.want, func(path string, _ registry.Node) bool {
		return path != jobtree.NodeConfig && within(path, jobtree.NodeConfig)
	})
	for _, path := range []string{jobtree.NodeServers, jobtree.NodeInstances, jobtree.NodeWasm} {
		if !m.want[path].Exists {
			m.want.put(path, []byte{})
		}
	}
	// The nodes of keys are gone from the intended tree; config reads them from the present
	// one.
	if err := m.config(); err != nil {
		return err
	}
	if byServer(m.from) {
		return errors.Join(m.servers(), m.items())
	}
	for _, ip := range m.tree[jobtree.NodeServers].Children {
		path := jobtree.NodeServers + "/" + ip
		m.want.put(path, []byte(m.job.ServerValue(m.job.ServerDisabled(m.tree[path]))))
	}
	return nil
}

// readable refuses a configuration with which no member could run the job. It reads the
// intended nodes as a member would.
func (m *moving) readable() error {
	d := layout.New(m.to, "", m.name).NewDecoder(nil)
	root := layout.New(m.to, "", m.name).Root()
	d.Apply(root, m.want.linked()[""])
	d.Apply(at(root, jobtree.NodeConfig), m.want[jobtree.NodeConfig])
	if v := d.View(); v.ConfigFault != "" {
		return fmt.Errorf("what would become of its configuration in layout %s cannot be read: %s", m.to, v.ConfigFault)
	}
	return nil
}

// note adds a text about what the layout cannot hold.
func (m *moving) note(format string, args ...any) {
	m.notes = append(m.notes, fmt.Sprintf(format, args...))
}
