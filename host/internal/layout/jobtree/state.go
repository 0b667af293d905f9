package jobtree

import (
	"bytes"
	"strconv"

	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/registry"
)

// nodeOffset has the offsets of items, in layout 1.
const nodeOffset = "offset"

// StateOf returns the node of an item's state, with the nodes above it that may be missing,
// outermost first.
func (j Job) StateOf(item int) (above []string, path string) {
	dir := j.at(NodeItems)
	own := dir + "/" + strconv.Itoa(item)
	return []string{dir, own}, own + "/" + MarkState
}

// OffsetOf returns the node of a key of an item's state in layout 1, with the node above it
// that may be missing. In other layouts it is empty.
func (j Job) OffsetOf(item int) (above, path string) {
	if j.added == nil || !j.added.Offsets {
		return "", ""
	}
	above = j.at(nodeOffset)
	return above, above + "/" + strconv.Itoa(item)
}

// SaveState spells the replacement of an item's state, which was n when it was read. It is
// refused if the state was changed since, or if the member's record is gone: then others
// count the member as dead, and the item may belong to another one.
func (j Job) SaveState(self job.InstanceID, item int, n registry.Node, data []byte) []registry.Op {
	_, path := j.StateOf(item)
	write := registry.Op{Kind: registry.Create, Path: path, Data: data}
	if n.Exists {
		write = registry.Op{Kind: registry.Set, Path: path, Data: data, Version: n.Stat.Version}
	}
	return []registry.Op{{Kind: registry.Check, Path: j.runsOf(self), Version: registry.AnyVersion}, write}
}

// SaveOffset spells, for the same transaction as SaveState, the replacement of an item's
// offset, which was n when it was read. It is nil if the layout has no such node, or
// nothing changes. It does not check a version, since SaveState does.
func (j Job) SaveOffset(item int, n registry.Node, value []byte) []registry.Op {
	_, path := j.OffsetOf(item)
	switch {
	case path == "" || bytes.Equal(n.Data, value):
		return nil
	case n.Exists:
		return []registry.Op{{Kind: registry.Set, Path: path, Data: value, Version: registry.AnyVersion}}
	}
	return []registry.Op{{Kind: registry.Create, Path: path, Data: value}}
}
