package jobtree

import (
	"strconv"

	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/registry"
)

// StateOf is the node that keeps an item's state, with those above it that may be
// missing, outermost first.
func (j Job) StateOf(item int) (above []string, path string) {
	dir := j.at(NodeItems)
	own := dir + "/" + strconv.Itoa(item)
	return []string{dir, own}, own + "/" + MarkState
}

// SaveState spells the replacement of an item's state, which was n when it was
// read. It is refused if the state was changed since, or if the record of the
// member is gone: then the member is dead to the others, and the item may be
// another member's.
func (j Job) SaveState(self job.InstanceID, item int, n registry.Node, data []byte) []registry.Op {
	_, path := j.StateOf(item)
	write := registry.Op{Kind: registry.Create, Path: path, Data: data}
	if n.Exists {
		write = registry.Op{Kind: registry.Set, Path: path, Data: data, Version: n.Stat.Version}
	}
	return []registry.Op{{Kind: registry.Check, Path: j.runsOf(self), Version: registry.AnyVersion}, write}
}
