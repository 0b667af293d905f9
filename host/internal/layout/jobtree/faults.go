package jobtree

import (
	"fmt"
	"slices"
	"strings"

	"github.com/wasmjob/wasmjob/host/internal/layout/spelling"
	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/reason"
	"github.com/wasmjob/wasmjob/host/registry"
)

// faults are the faults in the nodes of a job, by path below it. Foreign and damaged nodes
// stop only their own job, and only until they are repaired.
type faults []fault

type fault struct {
	path, text string
	stray      bool // a foreign node, which is left alone
}

const (
	maxFaults    = 20  // number of reported faults
	maxFaultText = 400 // bytes of each
	maxStrays    = 10  // below one node
)

// set records why the node at path cannot be read or, with nil, that it can.
func (f *faults) set(path string, err error) {
	f.remove(func(o fault) bool { return o.path == path && !o.stray })
	if err != nil {
		*f = append(*f, fault{path: path, text: err.Error()})
	}
}

// stray records, if is, that the node at path does not belong there, or not in that form.
// Otherwise it forgets that.
func (f *faults) stray(path string, is bool, text string) {
	f.remove(func(o fault) bool { return o.path == path && o.stray })
	if is {
		*f = append(*f, fault{path, text, true})
	}
}

func (f *faults) remove(which func(fault) bool) { *f = slices.DeleteFunc(*f, which) }

// others records the children of a node that should be items and are not.
func (f *faults) others(parent string, children []string) {
	f.remove(func(o fault) bool { return o.stray && strings.HasPrefix(o.path, parent+"/") })
	n := 0
	for _, c := range children {
		if _, ok := spelling.ItemNumber(c); !ok && n < maxStrays {
			n++
			f.stray(parent+"/"+c, true, fmt.Sprintf("expected the number of an item, below %d; it is left alone", spelling.MaxItems))
		}
	}
}

// code is the kind of the fault.
func (o *fault) code() reason.Code {
	if o.stray {
		return reason.NodeStray
	}
	return reason.NodeUnreadable
}

// publish adds the faults to a view. A fault in the definition, or one that shows another
// layout, keeps the job from beginning anything. A fault in a record of ours keeps the core
// from deciding anything. A foreign node does neither.
func (f faults) publish(v *protocol.View, j Job) {
	v.ConfigFault, v.RecordFault, v.Faults = "", "", nil
	for _, o := range f {
		text := strings.ToValidUTF8(j.At(o.path)+": "+o.text, "\ufffd")
		if len(text) > maxFaultText {
			text = strings.ToValidUTF8(text[:maxFaultText], "") + " …"
		}
		switch {
		case o.stray:
		case o.path == "" || o.path == NodeConfig || o.path == NodeModule || o.path == NodeWasm || strings.HasPrefix(o.path, NodeServers+"/"):
			// A server's node shows another layout; wasm has the fault of a migration that was cut off.
			v.ConfigFault = text
		case v.RecordFault == "":
			v.RecordFault = text
		}
		if len(v.Faults) < maxFaults {
			v.Faults = append(v.Faults, reason.Of(o.code(), text))
		}
	}
	slices.SortFunc(v.Faults, func(a, b reason.Reason) int { return strings.Compare(a.Args, b.Args) })
}

// otherLayout returns the fault of a node that is of layout 1 or 2.0, if other; nil
// otherwise.
func (j Job) otherLayout(other bool) error {
	if !other {
		return nil
	}
	return fmt.Errorf("this is a job of layout 1 or 2.0, expected one of %s; it is not touched", j.dialect.Name())
}

// expected adds to an error what a value of ours should have been; nil stays nil.
func expected(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("expected %s: %w", what, err)
}

// rootFault returns why the job's own node is not of this layout; nil if it may be.
func (j Job) rootFault(n registry.Node) error {
	const text = "%s is there, as in layouts %s; expected a job of layout %s; it is not touched"
	switch {
	case j.byAddress() && slices.Contains(n.Children, NodeInstances):
		return fmt.Errorf(text, NodeInstances, "2.1 and 3", j.dialect.Name())
	case !j.byAddress() && ByAddressAt(n):
		return fmt.Errorf(text, nodeExecution, "2.0 and 1", j.dialect.Name())
	}
	return j.dialect.Root(n)
}

// ByAddressIn reports, from the nodes below a server's node, whether the job's members are
// identified by their addresses.
func ByAddressIn(server registry.Node) bool {
	return slices.Contains(server.Children, partHost) || slices.Contains(server.Children, partStatus)
}

// ByAddressAt reports the same from the nodes below the job's own node.
func ByAddressAt(root registry.Node) bool {
	return slices.Contains(root.Children, nodeExecution) && !slices.Contains(root.Children, NodeInstances)
}
