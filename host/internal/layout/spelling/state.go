package spelling

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/wasmjob/wasmjob/host/internal/jsonvalue"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/registry"
)

// The state of an item is in a node of its own below wasm/items/{i}: it may be large, and
// the member that runs the item writes it outside of the protocol's mutations.

type stateJSON struct {
	V      int               `json:"v"`
	Values map[string][]byte `json:"values"`
}

// KeyOffset is the key of an item's state for the offset of a dataflow, which layout 1
// keeps in a node.
const KeyOffset = "offset"

// PutOffset adds the value of layout 1's offset node to the values of an item, which come
// from the node state. It ignores an empty node: a member of ElasticJob creates the node
// empty, and then sets it. If the state was written later than the node, its value counts:
// an earlier release of ours does not write the node.
func PutOffset(values map[string][]byte, state, offset registry.Node) {
	_, has := values[KeyOffset]
	if len(offset.Data) > 0 && (!has || offset.Stat.Modified >= state.Stat.Modified) {
		values[KeyOffset] = offset.Data
	}
}

// maxState is the largest text of a state that is read: job.MaxState with room for escapes.
const maxState = 1 << 20

// EncodeState returns the text of an item's values. It refuses more than job.MaxState.
func EncodeState(values map[string][]byte) ([]byte, error) {
	size := 0
	for key, value := range values {
		size += len(key) + len(value)
	}
	if size > job.MaxState {
		return nil, fmt.Errorf("the state has %d bytes, more than %d", size, job.MaxState)
	}
	data, err := json.Marshal(stateJSON{V: Version, Values: values})
	if err != nil { // texts and bytes can always be encoded
		return nil, fmt.Errorf("write the state: %w", err)
	}
	return data, nil
}

// DecodeState reads what EncodeState wrote; a missing node has no values.
func DecodeState(n registry.Node) (map[string][]byte, error) {
	values := map[string][]byte{}
	if !n.Exists {
		return values, nil
	}
	if len(n.Data) > maxState {
		return nil, errors.New("read the state: it is larger than any that this release writes")
	}
	v := stateJSON{Values: values}
	if err := jsonvalue.Decode(n.Data, &v); err != nil {
		return nil, fmt.Errorf("read the state: %w", err)
	}
	if v.V != Version {
		return nil, fmt.Errorf("read the state: version %d is not known to this release", v.V)
	}
	if v.Values == nil {
		v.Values = values
	}
	return v.Values, nil
}
