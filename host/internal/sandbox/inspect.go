package sandbox

import (
	"fmt"
	"strings"

	"github.com/wasmjob/wasmjob/abi"
	"github.com/wasmjob/wasmjob/host/internal/wasm"
)

// Report says what a module consists of, without running it.
type Report struct {
	Digest      string   `json:"digest"`
	Bytes       int      `json:"bytes"`
	Kinds       []string `json:"kinds"`               // what it can be: simple, dataflow, strategy, script
	Listeners   []string `json:"listeners,omitempty"` // what it wants to be told of: before, after, started, completed
	ABI         int      `json:"abi"`                 // 0: says none
	Exports     []Export `json:"exports"`             // functions only
	Imports     []Import `json:"imports"`             // everything
	Grants      []string `json:"grants"`              // what it may want of the job's allow table
	MemoryMin   int64    `json:"memory_min"`          // bytes it begins with
	MemoryMax   int64    `json:"memory_max"`          // bytes it declares as its most; 0: none declared
	Initialize  bool     `json:"initialize"`          // has _initialize
	Functions   int      `json:"functions"`           // with code
	Sections    []string `json:"sections,omitempty"`  // names of custom sections
	StartOnLoad bool     `json:"start_on_load"`       // has a start section
}

// Export is a function that a module offers.
type Export struct {
	Name      string `json:"name"`
	Signature string `json:"signature"`
}

// Import is what a module asks of its host.
type Import struct {
	Module    string `json:"module"`
	Name      string `json:"name"`
	Signature string `json:"signature,omitempty"`
	Grant     string `json:"grant,omitempty"` // key of the allow table without which it does little
}

// Inspect takes a module apart and reports on it. The report is there also
// when the module would be refused, which the error, a *Refusal, then says; if
// not even the report could be made, its Digest is empty.
func (e *Engine) Inspect(binary []byte) (Report, error) {
	m, err := decode(binary, e.maxModule)
	if err != nil {
		return Report{}, err
	}
	a := &decodedModule{Module: m}
	if err = a.checkABI(e.hostFunctions); err == nil {
		err = a.checkBounds()
	}
	return a.report(digestOf(binary)), err
}

func (a *decodedModule) report(digest string) Report {
	r := Report{
		Digest: digest, Bytes: a.Size,
		Kinds: a.kinds(), Listeners: a.listeners(), Exports: []Export{}, Imports: []Import{}, Grants: []string{},
		Initialize: a.exports(abi.ExportInitialize), Functions: len(a.Bodies), StartOnLoad: a.Start != nil,
	}
	if a.Memory != nil {
		r.MemoryMin = int64(a.Memory.Min) * pageSize
		if a.Memory.Bounded {
			r.MemoryMax = int64(a.Memory.Max) * pageSize
		}
	}
	if a.exports(abi.ExportMarker) {
		r.ABI = abi.Version
	}
	for _, e := range a.Exports {
		if e.Kind == wasm.KindFunc {
			typ, _ := a.Type(e.Index)
			r.Exports = append(r.Exports, Export{Name: printable(e.Name), Signature: typ.String()})
		}
	}
	wanted := map[string]bool{}
	for _, im := range a.Imports {
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
	for _, c := range a.Customs[:min(len(a.Customs), 64)] {
		r.Sections = append(r.Sections, printable(c.Name))
	}
	return r
}

func (a *decodedModule) kinds() []string {
	kinds := []string{}
	for _, k := range []struct {
		kind string
		is   bool
	}{
		{"simple", a.exports(abi.ExportExecute)},
		{"dataflow", a.exports(abi.ExportFetch) && a.exports(abi.ExportProcess)},
		{"strategy", a.exports(abi.ExportShard)},
		{"script", a.exports(abi.ExportStart)},
	} {
		if k.is {
			kinds = append(kinds, k.kind)
		}
	}
	return kinds
}

// listeners are the events that the module has an export for, named as that is
// without what all begin with.
func (a *decodedModule) listeners() []string {
	var names []string
	for _, name := range []string{abi.ExportBefore, abi.ExportAfter, abi.ExportStarted, abi.ExportCompleted} {
		if a.exports(name) {
			names = append(names, strings.TrimPrefix(name, "wasmjob_"))
		}
	}
	return names
}

// grantFor is the key of the allow table that an import depends on. Go and
// others import most of WASI always, so it means "may want", not "needs".
func grantFor(module, name string) string {
	switch module {
	case wasiModule:
		switch name {
		case "environ_get":
			return "env"
		case "clock_time_get":
			return "clock"
		case "random_get":
			return "random"
		case "path_open":
			return "dirs"
		}
	case abi.Module:
		for _, f := range abi.Functions() {
			if f.Name == name {
				return string(f.Grant)
			}
		}
	}
	return ""
}

// String is the signature as one text, for messages.
func (e Export) String() string { return fmt.Sprintf("%s %s", e.Name, e.Signature) }
