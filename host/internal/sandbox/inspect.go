package sandbox

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/wasmjob/wasmjob/abi"
	"github.com/wasmjob/wasmjob/host/internal/meter"
	"github.com/wasmjob/wasmjob/host/internal/wasm"
)

// Report describes a module without running it.
type Report struct {
	Digest      string   `json:"digest"`
	Bytes       int      `json:"bytes"`
	Kinds       []string `json:"kinds"`               // simple, dataflow, strategy, script
	Listeners   []string `json:"listeners,omitempty"` // events with an export: before, after, started, completed
	ABI         int      `json:"abi"`                 // 0: no marker
	Exports     []Export `json:"exports"`             // functions only
	Imports     []Import `json:"imports"`             // all kinds
	Grants      []string `json:"grants"`              // keys of the job's allow table that it may need
	MemoryMin   int64    `json:"memory_min"`          // initial bytes
	MemoryMax   int64    `json:"memory_max"`          // declared maximum in bytes; 0: none
	Initialize  bool     `json:"initialize"`          // has _initialize
	Functions   int      `json:"functions"`           // defined in the module
	Sections    []string `json:"sections,omitempty"`  // names of custom sections
	StartOnLoad bool     `json:"start_on_load"`       // has a start section
}

// Export is a function that a module exports.
type Export struct {
	Name      string `json:"name"`
	Signature string `json:"signature"`
}

// Import is an import of a module.
type Import struct {
	Module    string `json:"module"`
	Name      string `json:"name"`
	Signature string `json:"signature,omitempty"`
	Grant     string `json:"grant,omitempty"` // key of the allow table that makes it useful
}

// Inspect decodes and checks a module. It returns a report even if the module is
// refused; then the error is a *Refusal. If decoding fails, the report is empty.
func (e *Engine) Inspect(binary []byte) (Report, error) {
	module, err := decode(binary, e.maxModule)
	if err != nil {
		return Report{}, err
	}
	decoded := &decodedModule{Module: module}
	if err = decoded.checkABI(e.hostFunctions); err == nil {
		err = decoded.checkBounds(e.queue.maxSingle())
	}
	if errors.Is(err, meter.ErrMemory) {
		err = e.queue.meteringRefusal()
	}
	return decoded.report(digestOf(binary)), err
}

// report describes the module, whose digest is given. Names come from the module and are
// made printable.
func (m *decodedModule) report(digest string) Report {
	r := Report{
		Digest: digest, Bytes: m.Size,
		Kinds: m.kinds(), Listeners: m.listeners(), Exports: []Export{}, Imports: []Import{}, Grants: []string{},
		Initialize: m.exports(abi.ExportInitialize), Functions: len(m.Bodies), StartOnLoad: m.Start != nil,
	}
	if m.Memory != nil {
		r.MemoryMin = int64(m.Memory.Min) * pageSize
		if m.Memory.Bounded {
			r.MemoryMax = int64(m.Memory.Max) * pageSize
		}
	}
	if m.exports(abi.ExportMarker) {
		r.ABI = abi.Version
	}
	for _, e := range m.Exports {
		if e.Kind == wasm.KindFunc {
			typ, _ := m.Type(e.Index)
			r.Exports = append(r.Exports, Export{Name: printable(e.Name), Signature: typ.String()})
		}
	}
	wanted := map[string]bool{}
	for _, im := range m.Imports {
		grant := grantFor(im.Module, im.Name)
		out := Import{Module: printable(im.Module), Name: printable(im.Name), Grant: grant}
		if im.Kind == wasm.KindFunc {
			out.Signature = im.Type.String()
		}
		r.Imports = append(r.Imports, out)
		if grant != "" && !wanted[grant] {
			wanted[grant] = true
			r.Grants = append(r.Grants, grant)
		}
	}
	for _, c := range m.Customs[:min(len(m.Customs), 64)] {
		r.Sections = append(r.Sections, printable(c.Name))
	}
	return r
}

// kinds returns the kinds of job that the module can be: those for which it has all
// exports.
func (m *decodedModule) kinds() []string {
	kinds := []string{}
	add := func(kind string, exports ...string) {
		if !slices.ContainsFunc(exports, func(name string) bool { return !m.exports(name) }) {
			kinds = append(kinds, kind)
		}
	}
	add("simple", abi.ExportExecute)
	add("dataflow", abi.ExportFetch, abi.ExportProcess)
	add("strategy", abi.ExportShard)
	add("script", abi.ExportStart)
	return kinds
}

// listeners returns the events that the module has an export for, without the prefix
// of the exports.
func (m *decodedModule) listeners() []string {
	var names []string
	for _, name := range []string{abi.ExportBefore, abi.ExportAfter, abi.ExportStarted, abi.ExportCompleted} {
		if m.exports(name) {
			names = append(names, strings.TrimPrefix(name, "wasmjob_"))
		}
	}
	return names
}

// grantFor returns the key of the allow table that an import depends on. Go and
// others always import most of WASI, so an import does not mean that the grant is
// needed.
func grantFor(module, name string) string {
	if module == wasiModule {
		return wasiGrants[name]
	}
	if module == abi.Module {
		for _, f := range abi.Functions() {
			if f.Name == name {
				return string(f.Grant)
			}
		}
	}
	return ""
}

var wasiGrants = map[string]string{ // read only
	"environ_get": "env", "clock_time_get": "clock", "random_get": "random", "path_open": "dirs",
}

// String returns name and signature for messages.
func (e Export) String() string { return fmt.Sprintf("%s %s", e.Name, e.Signature) }
