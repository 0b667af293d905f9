package spelling

import (
	"bytes"

	"github.com/wasmjob/wasmjob/host/internal/definition"
	"github.com/wasmjob/wasmjob/host/internal/protocol"
)

// text is a part of a job's definition: the value of its node.
type text []byte

// Text returns a part of a definition with that text.
func Text(data []byte) protocol.Spelled { return text(data) }

// Same implements protocol.Spelled.
func (t text) Same(as protocol.Spelled) bool { return bytes.Equal(t, Bytes(as)) }

func (t text) String() string { return string(t) }

// Spelled returns the part of a definition in a node with that value; nil if the node is
// missing.
func Spelled(data []byte) protocol.Spelled {
	if data == nil {
		return nil
	}
	return text(data)
}

// Bytes returns the text of a part; nil for a part that is missing.
func Bytes(part protocol.Spelled) []byte {
	t, _ := part.(text)
	return t
}

// ModuleOf returns the job's module in a view.
func ModuleOf(v *protocol.View) (definition.Module, error) {
	return definition.DecodeModule(Bytes(v.Definition.Module))
}

// SpellModule returns the module's part of a definition as the registry will hold it.
func SpellModule(m definition.Module) (protocol.Spelled, error) {
	data, err := definition.EncodeModule(m)
	if err != nil {
		return nil, err
	}
	return text(data), nil
}
