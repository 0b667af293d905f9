package layout

import (
	"github.com/wasmjob/wasmjob/host/internal/definition"
	"github.com/wasmjob/wasmjob/host/internal/layout/v21"
	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/registry"
)

// Records are members' records by their bytes.
type Records = v21.Records

// MaxBytes is what nodes and values of one transaction may have together.
const MaxBytes = v21.MaxBytes

// Contender is the token of a session in the queues of latches.
func Contender(session int64) string { return v21.Contender(session) }

// EncodeState writes the values of an item.
func EncodeState(values map[string][]byte) ([]byte, error) { return v21.EncodeState(values) }

// DecodeState reads what EncodeState wrote.
func DecodeState(n registry.Node) (map[string][]byte, error) { return v21.DecodeState(n) }

// PeerAddress is where a member's server gives modules to others.
func PeerAddress(member registry.Node) string { return v21.PeerAddress(member) }

// ModuleOf is what a view says of the job's module.
func ModuleOf(v *protocol.View) (definition.Module, error) { return v21.ModuleOf(v) }

// SpellModule is the module's part of a definition as the registry is to hold it.
func SpellModule(m definition.Module) (protocol.Spelled, error) { return v21.SpellModule(m) }

// Text is a part of a definition by its text.
func Text(data []byte) protocol.Spelled { return v21.Text(data) }
