package definition

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/wasmjob/wasmjob/host/internal/jsonvalue"
)

// version is the version that this release writes.
const version = 1

// MaxModule is the largest text of wasm/module, in bytes.
const MaxModule = 512 << 10

// Code identifies a module by its digest; the bytes are never in the registry.
type Code struct {
	Name      string `json:"name"`
	Digest    string `json:"digest"`              // sha256, lower-case hex
	Reference string `json:"reference,omitempty"` // where it came from, for people to read
}

// Module is the value of wasm/module: the part of a job's definition that is not in
// ElasticJob's configuration. Grants are requests: each server decides by its own grant
// limits whether it may run the job.
type Module struct {
	// Code runs the items; nil for a job without a module.
	Code *Code
	// Next replaces Code as soon as every member has it.
	Next *Code
	// Past lists the newest modules that ran before Code, the newest last.
	Past []Code
	// Strategy assigns the items; nil for the strategy that config names.
	Strategy *Code
	// Pinned keeps Code: no file and no operator replaces it until the pin is lifted.
	// Next is nil.
	Pinned bool
	// Made says that an operator wrote the text that was last applied, and no server has
	// the job in its file.
	Made bool

	settings settings
	base     branch // digests of what the file said when it was last applied
}

// Applied reports whether the definition of a server's file was ever applied to the job.
// It was not if an operator has defined the job.
func (m *Module) Applied() bool { return len(m.base) > 0 && !m.Made }

// moduleJSON is the beginning of an encoded Module. The settings and the base follow.
type moduleJSON struct {
	V        int    `json:"v"`
	Code     *Code  `json:"module,omitempty"`
	Next     *Code  `json:"next,omitempty"`
	Past     []Code `json:"past,omitempty"`
	Strategy *Code  `json:"strategy_module,omitempty"`
	Pinned   bool   `json:"pinned,omitempty"`
	Made     bool   `json:"made,omitempty"`
}

// EncodeModule encodes a module for DecodeModule. It refuses more than MaxModule bytes.
func EncodeModule(m Module) ([]byte, error) {
	text := jsonvalue.Encode(moduleJSON{V: version, Code: m.Code, Next: m.Next, Past: m.Past, Strategy: m.Strategy, Pinned: m.Pinned, Made: m.Made})
	text = m.settings.appendTo(text[:len(text)-1]) // inside the closing brace
	if len(m.base) > 0 {
		text = append(appendKey(text, "base"), jsonvalue.Encode(m.base)...)
	}
	text = append(text, '}')
	if len(text) > MaxModule {
		return nil, fmt.Errorf("write the module node: %d bytes are more than %d", len(text), MaxModule)
	}
	return text, nil
}

// DecodeModule decodes the value of wasm/module, which any program may have written. It
// refuses unknown keys, since one may be a limit that this release would not enforce.
func DecodeModule(data []byte) (Module, error) {
	if len(data) > MaxModule {
		return Module{}, fmt.Errorf("%d bytes are more than %d", len(data), MaxModule)
	}
	var begin struct {
		V int `json:"v"`
	}
	if err := jsonvalue.Decode(data, &begin); err != nil {
		return Module{}, err
	}
	if begin.V != version {
		return Module{}, fmt.Errorf("version %d is not known to this release", begin.V)
	}
	m, err := readModule(data)
	if err != nil {
		return Module{}, fmt.Errorf("it is not what this release writes: %w", err)
	}
	codes := map[string]*Code{"module": m.Code, "next": m.Next, "strategy_module": m.Strategy}
	for i := range m.Past {
		codes[fmt.Sprintf("past[%d]", i)] = &m.Past[i]
	}
	for _, key := range slices.Sorted(maps.Keys(codes)) {
		c := codes[key]
		if c == nil {
			continue
		}
		if len(c.Digest) != 64 || strings.Trim(c.Digest, "0123456789abcdef") != "" {
			return Module{}, fmt.Errorf("%s: %.100q is not a sha256: write 64 lower-case hex digits", key, c.Digest)
		}
	}
	if m.Pinned && (m.Code == nil || m.Next != nil) {
		return Module{}, errors.New("pinned: only a module that runs, with none to come, can be")
	}
	if len(m.Past) > maxPast {
		return Module{}, fmt.Errorf("past: %d modules are more than %d", len(m.Past), maxPast)
	}
	if err := checkBase(m.base, 0); err != nil {
		return Module{}, fmt.Errorf("base: %w", err)
	}
	return m, nil
}

// readModule decodes a module without checking its values.
func readModule(data []byte) (m Module, err error) {
	var rest map[string]json.RawMessage
	if m.settings, rest, err = readSettings(data); err != nil {
		return m, err
	}
	var v int
	known := map[string]any{"v": &v, keyModule: &m.Code, "next": &m.Next, "past": &m.Past, keyStrategyModule: &m.Strategy, "pinned": &m.Pinned, "made": &m.Made, "base": &m.base}
	for _, name := range slices.Sorted(maps.Keys(rest)) {
		if known[name] == nil {
			return m, fmt.Errorf("unknown key %.100q", name)
		}
		if err := strictJSON(rest[name], known[name]); err != nil {
			return m, fmt.Errorf("%s: %w", name, err)
		}
	}
	return m, nil
}

// Wanted returns the module that the job should run: the next one if there is one.
func (m *Module) Wanted() *Code {
	if m.Next != nil {
		return m.Next
	}
	return m.Code
}
