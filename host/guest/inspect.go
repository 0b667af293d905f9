package guest

import (
	"errors"
	"strings"

	"github.com/wasmjob/wasmjob/abi"
	"github.com/wasmjob/wasmjob/host/internal/sandbox"
)

// Report describes a module that was not run.
type Report struct {
	Digest      string   `json:"digest"` // SHA-256, in hex
	Bytes       int      `json:"bytes"`
	Kinds       []string `json:"kinds"`   // the kinds of job that it can be: simple, dataflow, strategy, script
	ABI         int      `json:"abi"`     // 0 if it declares none
	Exports     []Export `json:"exports"` // functions only
	Imports     []Import `json:"imports"`
	Grants      []string `json:"grants"`             // keys of the job's allow table that its imports may need
	MemoryMin   int64    `json:"memory_min"`         // initial memory, in bytes
	MemoryMax   int64    `json:"memory_max"`         // maximum memory that it declares, in bytes; 0 if none
	Initialize  bool     `json:"initialize"`         // it exports _initialize
	Functions   int      `json:"functions"`          // functions with a body
	Sections    []string `json:"sections,omitempty"` // names of custom sections
	StartOnLoad bool     `json:"start_on_load"`      // it has a start section
	Listeners   []string `json:"listeners"`          // before, after, started, completed
	// Since is the number of ABI additions that the module's imports require. A host that has
	// fewer refuses the module.
	Since int `json:"since"`
}

// Export is a function that a module exports.
type Export struct {
	Name      string `json:"name"`
	Signature string `json:"signature"`
}

// Import is a function that a module imports from its host.
type Import struct {
	Module    string `json:"module"`
	Name      string `json:"name"`
	Signature string `json:"signature,omitempty"`
	Grant     string `json:"grant,omitempty"` // key of the job's allow table that it needs
}

// Refusal is the error for a module that this host will not run.
type Refusal struct {
	Reason  string // one word, for programs
	Problem string // what is wrong
	Hint    string // how to fix the build; may be empty
}

// Error returns the problem and the hint in one line.
func (r *Refusal) Error() string {
	if r.Hint == "" {
		return r.Problem
	}
	return r.Problem + "; " + r.Hint
}

// AssignFault is the error for a strategy that did not assign each item to exactly one
// instance, or gave a different answer when called again.
type AssignFault struct{ msg string }

// Error describes the fault and names the items.
func (f *AssignFault) Error() string { return f.msg }

// exported converts errors of the sandbox that callers distinguish into errors of this package.
func exported(err error) error {
	if r, ok := errors.AsType[*sandbox.Refusal](err); ok {
		return &Refusal{Reason: string(r.Reason), Problem: r.Problem, Hint: r.Hint}
	}
	if f, ok := errors.AsType[*sandbox.ShardError](err); ok {
		return &AssignFault{msg: f.Error()}
	}
	return err
}

// MaxModule is the largest size of a module, in bytes.
const MaxModule = 64 << 20

// Listed returns the report with empty lists in place of nil ones, which JSON would show as
// null.
func (r Report) Listed() Report {
	r.Kinds, r.Exports, r.Imports = orEmpty(r.Kinds), orEmpty(r.Exports), orEmpty(r.Imports)
	r.Grants, r.Listeners = orEmpty(r.Grants), orEmpty(r.Listeners)
	return r
}

// orEmpty returns an empty list in place of nil.
func orEmpty[T any](all []T) []T {
	if all == nil {
		return []T{}
	}
	return all
}

// Inspect analyses a module without running it. With a *Refusal the report is filled in too,
// unless the module could not be decoded; then its Digest is empty.
func Inspect(wasm []byte) (Report, error) {
	var found sandbox.Report
	err := Options{}.withSandbox(wasm, func(e *sandbox.Engine) (err error) {
		found, err = e.Inspect(wasm)
		return err
	})
	r := Report{
		Digest: found.Digest, Bytes: found.Bytes, Kinds: found.Kinds, ABI: found.ABI, Grants: found.Grants,
		MemoryMin: found.MemoryMin, MemoryMax: found.MemoryMax, Initialize: found.Initialize, Functions: found.Functions,
		Sections: found.Sections, StartOnLoad: found.StartOnLoad, Listeners: []string{},
	}
	if found.Digest != "" {
		r.Exports, r.Imports = []Export{}, []Import{} // JSON shows [], not null
	}
	for _, export := range found.Exports {
		r.Exports = append(r.Exports, Export(export))
		switch export.Name {
		case abi.ExportBefore, abi.ExportAfter, abi.ExportStarted, abi.ExportCompleted:
			r.Listeners = append(r.Listeners, strings.TrimPrefix(export.Name, "wasmjob_"))
		}
	}
	since := map[string]int{}
	for _, f := range abi.Functions() {
		since[f.Name] = f.Since
	}
	for _, im := range found.Imports {
		r.Imports = append(r.Imports, Import(im))
		if im.Module == abi.Module {
			r.Since = max(r.Since, since[im.Name])
		}
	}
	return r, exported(err)
}
