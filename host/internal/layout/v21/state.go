package v21

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/registry"
)

// The state of an item is a node of its own below wasm/items/{i}: it may be
// large, and is written by whoever runs the item, beside the mutations of the
// protocol.

// StateOf is the node that keeps an item's state, with those above it that may be
// missing, outermost first.
func (j Job) StateOf(item int) (above []string, path string) {
	dir := j.at(nodeItems)
	own := dir + "/" + strconv.Itoa(item)
	return []string{dir, own}, own + "/" + markState
}

// SaveState spells the replacement of an item's state, which was n when it was
// read. It is refused if the state was changed since, or if the record of the
// member is gone: then the member is dead to the others, and the item may be
// somebody else's.
func (j Job) SaveState(self job.InstanceID, item int, n registry.Node, data []byte) []registry.Op {
	_, path := j.StateOf(item)
	write := registry.Op{Kind: registry.Create, Path: path, Data: data}
	if n.Exists {
		write = registry.Op{Kind: registry.Set, Path: path, Data: data, Version: n.Stat.Version}
	}
	return []registry.Op{{Kind: registry.Check, Path: j.runsOf(self), Version: registry.AnyVersion}, write}
}

type stateJSON struct {
	V      int               `json:"v"`
	Values map[string][]byte `json:"values"`
}

// maxState bounds what is read as a state: what job.MaxState allows, as text,
// and with room for escapes.
const maxState = 1 << 20

// EncodeState writes the values of an item. They are refused beyond
// job.MaxState.
func EncodeState(values map[string][]byte) ([]byte, error) {
	size := 0
	for key, value := range values {
		size += len(key) + len(value)
	}
	if size > job.MaxState {
		return nil, fmt.Errorf("the state has %d bytes, more than %d", size, job.MaxState)
	}
	data, err := json.Marshal(stateJSON{V: valueVersion, Values: values})
	if err != nil { // never for texts and bytes
		return nil, fmt.Errorf("write the state: %w", err)
	}
	return data, nil
}

// DecodeState reads what EncodeState wrote; a node that is not there has no
// values.
func DecodeState(n registry.Node) (map[string][]byte, error) {
	values := map[string][]byte{}
	if !n.Exists {
		return values, nil
	}
	if len(n.Data) > maxState {
		return nil, errors.New("read the state: it is larger than any that this release writes")
	}
	v := stateJSON{Values: values}
	if err := decodeJSON(n.Data, &v); err != nil {
		return nil, fmt.Errorf("read the state: %w", err)
	}
	if v.V != valueVersion {
		return nil, fmt.Errorf("read the state: version %d is not known to this release", v.V)
	}
	if v.Values == nil {
		v.Values = values
	}
	return v.Values, nil
}
