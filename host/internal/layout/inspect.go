package layout

import (
	"slices"

	"github.com/wasmjob/wasmjob/host/internal/layout/jobtree"
	"github.com/wasmjob/wasmjob/host/internal/layout/servertree"
	"github.com/wasmjob/wasmjob/host/internal/layout/spelling"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/registry"
)

// OlderMember is a server of a job of layout 1 or 2.0.
type OlderMember = servertree.Member

// Form is what the nodes of a job show about the programs that created them.
type Form struct {
	// Layout is "1", "2.0", "2.1" or "3"; it is empty if the nodes show none.
	Layout string
	// Class is the class in the job's own node in layout 3.
	Class string
	// Older are the members in layouts 1 and 2.0, whose only id is an address. Unreadable
	// is the first of their values that cannot be read.
	Older      []OlderMember
	Unreadable error
	// Used is set if a node exists in which members register, whether ours or foreign ones.
	Used bool
	// Guarantee is set if members of ElasticJob have waited for each other, for a
	// listener that runs once for all of them.
	Guarantee bool
	// Unheld are places in the queues of latches that no session holds. They stay until
	// they are deleted, and hold up all behind them.
	Unheld []string
	// First is the first place in the queue of the election latch, and FirstOwner the
	// session that holds it. First is empty if the queue is.
	First      string
	FirstOwner int64
	// Newest is at least the revision of the last transaction of ours.
	Newest int64
}

const maxUnheld = 10 // places of one latch

// Inspected lists the nodes that Form and a view of a job are made from, named like those
// of Watched. It leaves out nodes whose names other programs choose.
func Inspected(l Layout) []string { return append(slices.Clone(l.Watched()), jobtree.NodeWasm) }

// FormOf reads the nodes that differ between layouts. read returns the node at a path, or
// one that does not exist.
func FormOf(l Layout, read func(path string) (registry.Node, error)) (Form, error) {
	root, err := read(l.Root())
	if err != nil {
		return Form{}, err
	}
	config, err := read(l.At(jobtree.NodeConfig))
	if err != nil {
		return Form{}, err
	}
	ours, err := read(l.At(jobtree.NodeWasm))
	if err != nil {
		return Form{}, err
	}
	servers, err := read(l.At(jobtree.NodeServers))
	if err != nil {
		return Form{}, err
	}
	f := Form{
		Used:      slices.Contains(root.Children, jobtree.NodeServers) || slices.Contains(root.Children, jobtree.NodeInstances),
		Guarantee: slices.Contains(root.Children, jobtree.NodeGuarantee),
		Newest:    max(root.Stat.Created, root.Stat.ChildrenChanged, ours.Stat.Modified),
	}
	var known []registry.Node
	for _, ip := range servers.Children {
		s, err := read(l.At(jobtree.NodeServers) + "/" + ip)
		if err != nil {
			return Form{}, err
		}
		known = append(known, s)
	}
	f.Layout = Of(root, config, known)
	if f.Layout == job.Layout3 {
		f.Class = string(root.Data)
	}
	if f.Layout == job.Layout1 || f.Layout == job.Layout20 {
		j, err := servertree.Read(l.Root(), read)
		if err != nil {
			return Form{}, err
		}
		f.Older, f.Unreadable = j.Servers, j.Fault
	}
	if f.Unheld, err = unheld(l, read); err != nil {
		return f, err
	}
	f.First, f.FirstOwner, err = first(l, read)
	return f, err
}

// first returns the first place in the queue of the election latch, whose holder leads
// next, and the session that holds it. A place that was deleted since the queue was read
// does not count.
func first(l Layout, read func(path string) (registry.Node, error)) (path string, owner int64, err error) {
	latch, err := read(l.At(jobtree.NodeLatch))
	if err != nil {
		return "", 0, err
	}
	for _, c := range spelling.Queue(latch.Children) {
		path = l.At(jobtree.NodeLatch) + "/" + c.Name
		place, err := read(path)
		if err != nil || place.Exists {
			return path, int64(place.Stat.Owner), err
		}
	}
	return "", 0, nil
}

// unheld returns the places that no session holds, of the first maxUnheld of each latch.
// Such places block those behind them.
func unheld(l Layout, read func(path string) (registry.Node, error)) ([]string, error) {
	var paths []string
	for _, latch := range []string{l.At(jobtree.NodeLatch), l.At(jobtree.NodeFailoverLatch)} {
		n, err := read(latch)
		if err != nil {
			return nil, err
		}
		q := spelling.Queue(n.Children)
		for _, c := range q[:min(len(q), maxUnheld)] {
			place, err := read(latch + "/" + c.Name)
			if err != nil {
				return nil, err
			}
			if place.Exists && place.Stat.Owner == 0 {
				paths = append(paths, latch+"/"+c.Name)
			}
		}
	}
	return paths, nil
}
