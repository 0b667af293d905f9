package sandbox

import (
	"fmt"
	"slices"
	"strings"

	"github.com/wasmjob/wasmjob/abi"
)

const wasiModule = "wasi_snapshot_preview1"

// nextRelease is the release that brings what this one still refuses.
const nextRelease = "0.2"

var ( // signatures, read only
	noneToNone = funcType{}
	noneToI32  = funcType{results: valI32}
)

// entries are the exports that the host calls or looks for, with their type.
func entries() map[string]funcType {
	return map[string]funcType{
		abi.ExportMarker:     noneToNone,
		abi.ExportInitialize: noneToNone,
		abi.ExportStart:      noneToNone,
		abi.ExportExecute:    noneToI32,
		abi.ExportFetch:      noneToI32,
		abi.ExportProcess:    noneToI32,
		abi.ExportShard:      noneToI32,
		abi.ExportBefore:     noneToI32,
		abi.ExportAfter:      noneToI32,
		abi.ExportStarted:    noneToI32,
		abi.ExportCompleted:  noneToI32,
	}
}

// comingFunctions are functions of version 1 of the ABI that this release does
// not serve yet.
func comingFunctions() []string {
	return []string{
		"metric_add", "sleep_ms", "now_unix_ms", "random",
		"batch_add", "batch_count", "batch_read", "batch_ack",
		"state_get", "state_set", "state_delete", "secret_get",
		"http_request", "http_status", "http_header", "http_read", "http_close",
		"shard_instance_count", "shard_instance_id", "shard_instance_label", "shard_prev", "shard_assign",
	}
}

// admit decides whether a module can be run at all: by its exports, its memory
// and its imports. The functions offered are given as module name → function
// name → signature.
func (a *anatomy) admit(offered map[string]map[string]funcType) error {
	if err := a.admitExports(); err != nil {
		return hinted(err)
	}
	if err := a.admitMemory(); err != nil {
		return err
	}
	return a.admitImports(offered)
}

func (a *anatomy) admitExports() error {
	for _, name := range a.exportOrd {
		want, known := entries()[name]
		if !known {
			continue
		}
		e := a.exports[name]
		if e.kind != kindFunc {
			return &Refusal{Reason: BadSignature, Problem: fmt.Sprintf("export %s is not a function", name), Hint: "export a function " + want.String()}
		}
		got, ok := a.signature(e.index)
		if !ok {
			return &Refusal{Reason: Damaged, Problem: fmt.Sprintf("export %s names function %d, which is not there", name, e.index)}
		}
		if got != want {
			return &Refusal{
				Reason:  BadSignature,
				Problem: fmt.Sprintf("export %s has the signature %s instead of %s", name, got, want),
				Hint:    "the context is read with host functions, not from parameters",
			}
		}
	}
	return a.admitEntry()
}

func (a *anatomy) has(name string) bool {
	_, ok := a.exports[name]
	return ok
}

// admitEntry asks for the marker and for something to call.
func (a *anatomy) admitEntry() error {
	job := a.has(abi.ExportExecute) || a.has(abi.ExportFetch) || a.has(abi.ExportProcess) || a.has(abi.ExportShard)
	switch {
	case a.has(abi.ExportStart) && (job || a.has(abi.ExportMarker)):
		return &Refusal{
			Reason:  IsCommand,
			Problem: "the module is a command (it exports _start) and a job at once; a command's other exports must not be called",
			Hint:    reactorHint,
		}
	case a.has(abi.ExportStart):
		return &Refusal{
			Reason:  Later,
			Problem: "the module is a WASI command; script jobs come with release " + nextRelease,
			Hint:    "or write it with an SDK and " + reactorHint,
		}
	case !a.has(abi.ExportMarker):
		return &Refusal{
			Reason:  NoMarker,
			Problem: "the module does not export " + abi.ExportMarker + ", so it is not written for this host",
			Hint:    "use an SDK, or export an empty function of that name",
		}
	case a.has(abi.ExportExecute):
		return nil
	case job:
		return &Refusal{Reason: Later, Problem: "dataflow jobs and strategies come with release " + nextRelease, Hint: "this release calls " + abi.ExportExecute}
	}
	return &Refusal{Reason: NoEntry, Problem: "the module exports nothing that a job could call", Hint: "export " + abi.ExportExecute + " " + noneToI32.String()}
}

func (a *anatomy) admitMemory() error {
	for _, im := range a.imports {
		if im.kind == kindMemory {
			return &Refusal{Reason: BadMemory, Problem: "the module imports its memory", Hint: "let the module define and export its own (no --import-memory)"}
		}
	}
	if a.memories == 0 {
		return &Refusal{Reason: BadMemory, Problem: "the module has no memory", Hint: "define one and export it as " + abi.ExportMemory}
	}
	if e, ok := a.exports[abi.ExportMemory]; !ok || e.kind != kindMemory || e.index != 0 {
		return &Refusal{Reason: BadMemory, Problem: "the module does not export its memory", Hint: "export it as " + abi.ExportMemory}
	}
	return nil
}

// admitImports lists everything that is amiss, not just the first.
func (a *anatomy) admitImports(offered map[string]map[string]funcType) error {
	var unknown, coming, wrong []string
	for _, im := range a.imports {
		full := shorten(im.module) + "." + shorten(im.name)
		want, known := offered[im.module][im.name]
		switch {
		case im.kind != kindFunc:
			unknown = append(unknown, full+" (not a function)")
		case known && want != im.typ:
			wrong = append(wrong, fmt.Sprintf("%s has the signature %s instead of %s", full, im.typ, want))
		case known:
		case im.module == abi.Module && slices.Contains(comingFunctions(), im.name):
			coming = append(coming, full)
		default:
			unknown = append(unknown, full)
		}
	}
	switch {
	case len(unknown) > 0:
		return &Refusal{Reason: BadImport, Problem: "the module imports what this host does not have: " + listed(unknown), Hint: importHint(unknown)}
	case len(wrong) > 0:
		return &Refusal{Reason: BadSignature, Problem: "import " + listed(wrong), Hint: "update the SDK, or compare with ABI.md"}
	case len(coming) > 0:
		return &Refusal{Reason: Later, Problem: "the module imports what comes with release " + nextRelease + ": " + listed(coming), Hint: "leave those calls out until then"}
	}
	return nil
}

func importHint(names []string) string {
	for _, n := range names {
		switch {
		case strings.HasPrefix(n, "env.abort"), strings.HasPrefix(n, "env.seed"), strings.HasPrefix(n, "env.trace"):
			return "for AssemblyScript pass --use abort= (and no seed or trace)"
		case strings.HasPrefix(n, "wasi:"), strings.HasPrefix(n, "wasi_unstable"):
			return "build for " + wasiModule + " (wasip1)"
		case strings.HasPrefix(n, "env."):
			return "a symbol was left unresolved at link time"
		case strings.HasPrefix(n, abi.Module+"."):
			return "a newer host may have it; see wasmjobd version"
		}
	}
	return "only " + abi.Module + " and " + wasiModule + " are offered"
}
