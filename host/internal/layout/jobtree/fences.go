package jobtree

import "github.com/wasmjob/wasmjob/host/registry"

// A fence is a condition of a transaction: the registry refuses the transaction if a node
// has changed since the view on which it was decided. A fence is a check, or the version
// that a node must have to be set or deleted. Its name, given where it is encoded, has the
// mutation and what must not have changed.

// Without returns the same spelling without the fence of that name. Only the simulator uses
// it, to show what breaks without the fence.
func (j Job) Without(fence string) Job {
	j.without = fence
	return j
}

// check refuses the transaction if the node does not have the version. It does nothing if
// the simulator leaves out the fence.
func (t *transaction) check(fence, path string, version int32) {
	if fence != t.without {
		t.op(registry.Check, path, nil, version)
	}
}

// fenced adds operations of a layout, which carry the versions that their nodes must have.
// Without the fence, it leaves out those that only check, and the versions of the others.
func (t *transaction) fenced(fence string, ops ...registry.Op) {
	for _, op := range ops {
		if fence == t.without {
			if op.Kind == registry.Check || op.Kind == registry.Absent {
				continue
			}
			op.Version = registry.AnyVersion
		}
		t.ops = append(t.ops, op)
	}
}

// seen returns version, in which a node was seen and which it must still have to be set or
// deleted; any version without the fence.
func (t *transaction) seen(fence string, version int32) int32 {
	if fence == t.without {
		return registry.AnyVersion
	}
	return version
}
