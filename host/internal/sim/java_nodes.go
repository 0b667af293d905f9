package sim

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/wasmjob/wasmjob/host/internal/layout"
	"github.com/wasmjob/wasmjob/host/registry"
)

// nodes are the paths of ElasticJob's nodes, as layout spells them.
type nodes struct {
	root, config, servers, instances, election, leader, necessary, processing, pending, failover, items string
	trigger, started, completed, time                                                                   string // in layout 3
	enabled, disabled                                                                                   string // what a server's node says
}

const (
	markOwner    = "instance"
	markRunning  = "running"
	markMisfire  = "misfire"
	markDisabled = "disabled"
	markFailover = "failover"

	markFailovering = "failovering" // in layout 3

	disabled21  = "DISABLED"
	triggered21 = "TRIGGER"
)

// nodesOf finds the paths of a job in its layout, each by its name and its parent's.
func nodesOf(j layout.Layout) nodes {
	at := func(parent, name string) string {
		all := j.Watched()
		k := slices.IndexFunc(all, func(n string) bool { return path.Base(n) == name && path.Base(path.Dir(j.At(n))) == parent })
		if k < 0 {
			return "" // the layout has none, and no member of ElasticJob is simulated
		}
		return j.At(all[k])
	}
	items := at("failover", "items")
	return nodes{
		root: j.Root(), config: at(jobName, "config"), servers: at(jobName, "servers"), instances: at(jobName, "instances"),
		election: at("election", "latch"), leader: at("election", "instance"), necessary: at("sharding", "necessary"),
		processing: at("sharding", "processing"), pending: items, failover: path.Join(path.Dir(items), "latch"), items: path.Dir(j.At(j.ItemNode(0))),
		trigger: at(jobName, "trigger"), started: path.Join(at(jobName, "guarantee"), "started"), completed: path.Join(at(jobName, "guarantee"), "completed"), time: path.Join(j.Root(), "systemTime", "current"),
		enabled: serverValue(j, false), disabled: serverValue(j, true),
	}
}

// item returns the path of an item's node or, with a mark, of that mark.
func (n *nodes) item(i int, mark string) string {
	if mark == "" {
		return n.items + "/" + strconv.Itoa(i)
	}
	return n.items + "/" + strconv.Itoa(i) + "/" + mark
}

// instance is the path of the own instance's node.
func (j *jvm) instance() string { return j.w.nodes.instances + "/" + string(j.id()) }

// ElasticJob's use of its client: each read and each write is a request of its own. Nodes
// that exist already, or are gone already, are ignored silently.

// read reads a node from the registry, and counts that.
func (t *thread) read(p string) registry.Node {
	var node registry.Node
	t.j.read++
	t.call(func(answered func()) {
		t.j.s.read(p, func(n registry.Node) { node = n; answered() })
	})
	return node
}

func (t *thread) exists(p string) bool { return t.read(p).Exists }

// kids returns the names below a node, descending.
func (t *thread) kids(p string) []string {
	all := slices.Clone(t.read(p).Children)
	slices.Reverse(all)
	return all
}

// get returns the value of a node from the copy or, if the copy lacks it, by a read.
func (t *thread) get(p string) string {
	if n, ok := t.j.copy.nodes[p]; ok {
		return string(n.Data)
	}
	return string(t.read(p).Data)
}

// commit sends a transaction and waits for its answer.
func (t *thread) commit(ops ...registry.Op) error {
	var err error
	t.call(func(answered func()) {
		t.j.submit(ops, func(_ registry.Receipt, e error) { err = e; answered() })
	})
	return err
}

// submit sends a transaction of the process. If the connection breaks, the registry may
// apply it all the same.
func (j *jvm) submit(ops []registry.Op, answer func(registry.Receipt, error)) {
	w, s := j.w, j.s
	by := origin{java: j}
	if w.trace != nil {
		by.what = describeOps(w, ops)
	}
	s.request(func() {
		receipt, err := w.transact(s, ops, by)
		s.caughtUp(func() { s.client(message{reply: func() { answer(receipt, err) }}) })
	}, func() { w.apply(s, ops, by) }, false)
}

// conflictOf returns why the registry refused a transaction; 0: it did not.
func conflictOf(err error) registry.Reason {
	if c, ok := errors.AsType[*registry.ConflictError](err); ok {
		return c.Reason
	}
	return 0
}

// create creates a node and, if necessary, those above it. Another member may delete
// these meanwhile, so it tries a few times.
func (t *thread) create(kind registry.OpKind, p, data string) {
	for range 4 {
		if conflictOf(t.commit(registry.Op{Kind: kind, Path: p, Data: []byte(data)})) != registry.NoParent {
			return
		}
		t.create(registry.Create, path.Dir(p), "")
	}
}

// persist writes a node that lasts: it creates the node, or sets its value.
func (t *thread) persist(p, data string) {
	if !t.exists(p) {
		t.create(registry.Create, p, data)
		return
	}
	_ = t.commit(registry.Op{Kind: registry.Check, Path: p, Version: registry.AnyVersion}, registry.Op{Kind: registry.Set, Path: p, Data: []byte(data), Version: registry.AnyVersion})
}

// ephemeral creates a node of the session, after deleting an existing one.
func (t *thread) ephemeral(p, data string) {
	if t.exists(p) {
		t.delete(p)
	}
	t.create(registry.CreateEphemeral, p, data)
}

// createIfNeeded creates a node without a value unless it exists. It creates nothing for
// a job that was removed.
func (t *thread) createIfNeeded(p string) {
	switch {
	case !t.exists(t.j.w.nodes.root) || t.exists(p):
	case t.j.w.three:
		t.persist(p, "") // what was made meanwhile is emptied
	default:
		t.create(registry.Create, p, "")
	}
}

// remove deletes a node if it exists.
func (t *thread) remove(p string) {
	if t.exists(p) {
		t.delete(p)
	}
}

// delete deletes a node and everything below it. Another member may create children
// meanwhile, so it tries a few times.
func (t *thread) delete(p string) {
	for range 4 {
		if conflictOf(t.commit(registry.Op{Kind: registry.Delete, Path: p, Version: registry.AnyVersion})) != registry.NotEmpty {
			return
		}
		for _, k := range t.kids(p) {
			t.delete(p + "/" + k)
		}
	}
}

// inLatch calls do while no other member does. The first in the queue has its turn until
// it removes its own node.
func (t *thread) inLatch(latch string, do func()) {
	w := t.j.w
	w.tokens++
	name := fmt.Sprintf("_c_%08x-0000-4000-8000-%012x-latch-", w.seed&0xffffffff, w.tokens)
	own := ""
	for {
		if own == "" {
			own = t.enqueue(latch, name)
		}
		queue := t.read(latch).Children
		queue = slices.Clone(queue)
		slices.SortFunc(queue, func(a, b string) int { return cmp.Compare(number(a), number(b)) })
		switch k := slices.Index(queue, own); {
		case k < 0:
			own = ""
		case k == 0:
			w.heldLatch(t.j)
			t.try(do)
			t.delete(latch + "/" + own)
			return
		case t.gone(latch+"/"+queue[k-1]) && !w.three:
			// It removes its own node if the node before it was gone already, and if the
			// connection was lost.
			t.delete(latch + "/" + own)
			own = ""
		}
	}
}

// number returns the number that orders the places of a queue.
func number(name string) string {
	const last = "latch-"
	if k := strings.LastIndex(name, last); k >= 0 {
		return name[k+len(last):]
	}
	return name
}

// enqueue creates the thread's node in a queue. Without an answer it first checks whether
// the node exists.
func (t *thread) enqueue(latch, name string) string {
	for {
		queue := t.read(latch).Children
		if k := slices.IndexFunc(queue, func(n string) bool { return strings.HasPrefix(n, name) }); k >= 0 {
			t.j.doubled(latch, name)
			return queue[k]
		}
		var made string
		var err error
		t.asking, t.lost = true, false
		t.await(func(answered func()) {
			t.j.submit([]registry.Op{{Kind: registry.CreateEphemeralSequential, Path: latch + "/" + name}}, func(r registry.Receipt, e error) {
				if err = e; e == nil {
					made = path.Base(r.Results[0].Path)
				}
				answered()
			})
		})
		t.asking = false
		switch {
		case made != "":
			t.j.doubled(latch, name)
			return made
		case conflictOf(err) == registry.NoParent:
			if t.create(registry.Create, latch, ""); t.j.w.three {
				t.j.w.container(latch)
			}
		}
	}
}

// doubled restarts the process if it has two nodes in a queue. That happens if its session
// moves, while a create is on its way, to a ZooKeeper server that has not applied the
// create yet: the children that Curator reads there lack the node, so Curator creates
// another one. Curator keeps the first node that an answer or a later reading names, and
// never deletes the other one, which blocks the queue as long as the process lives.
func (j *jvm) doubled(latch, name string) {
	own := 0
	for _, n := range j.w.tree.Get(latch).Children {
		if strings.HasPrefix(n, name) {
			own++
		}
	}
	if own > 1 {
		j.stuck = true
		j.w.revive(j)
	}
}

// gone waits until a node is removed. It reports whether the queue must be entered again.
func (t *thread) gone(p string) (anew bool) {
	if !t.exists(p) {
		return true
	}
	j, s := t.j, t.j.s
	epoch := s.epoch
	t.await(func(wake func()) {
		if j.gone == nil {
			j.gone = map[string][]func(){}
		}
		j.gone[p] = append(j.gone[p], wake)
	})
	return j.s != s || s.epoch != epoch
}

// describeOps spells a transaction for the trace.
func describeOps(w *World, ops []registry.Op) string {
	var s strings.Builder
	for _, op := range ops {
		word := "check"
		switch op.Kind { //nolint:exhaustive // the last is the word for the rest
		case registry.Create, registry.CreateEphemeral, registry.CreateSequential, registry.CreateEphemeralSequential:
			word = "create"
		case registry.Set:
			word = "set"
		case registry.Delete:
			word = "delete"
		}
		fmt.Fprintf(&s, " %s %s", word, strings.TrimPrefix(op.Path, w.nodes.root+"/"))
		if len(op.Data) > 0 && len(op.Data) < 40 {
			fmt.Fprintf(&s, "=%s", op.Data)
		}
	}
	return s.String()
}
