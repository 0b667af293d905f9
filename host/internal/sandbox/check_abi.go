package sandbox

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/wasmjob/wasmjob/abi"
	"github.com/wasmjob/wasmjob/host/internal/meter"
	"github.com/wasmjob/wasmjob/host/internal/wasm"
)

const wasiModule = "wasi_snapshot_preview1"

var ( // signatures, read only
	noneToNone = wasm.FuncType{}
	noneToI32  = wasm.FuncType{Results: valI32}
)

// entryTypes are the exports that the host calls or looks for, with their type.
func entryTypes() map[string]wasm.FuncType {
	return map[string]wasm.FuncType{
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

// checkABI decides whether a module can be run at all: by its exports, its memory
// and its imports. The functions offered are given as module name → function
// name → signature.
func (a *decodedModule) checkABI(offered map[string]map[string]wasm.FuncType) error {
	if err := a.checkVersion(); err != nil {
		return err
	}
	if err := a.checkExports(); err != nil {
		return withHint(err)
	}
	if err := a.checkMemory(); err != nil {
		return err
	}
	return a.checkImports(offered)
}

// checkVersion refuses a module of another version of the contract before its
// exports and imports are held against this one.
func (a *decodedModule) checkVersion() error {
	for _, e := range a.Exports {
		number, ok := strings.CutPrefix(e.Name, abi.MarkerPrefix)
		version, err := strconv.ParseUint(number, 10, 32)
		if !ok || err != nil || a.exports(abi.ExportMarker) {
			continue
		}
		return &Refusal{
			Reason:  NoMarker,
			Problem: fmt.Sprintf("the module is written for version %d of the contract; this host speaks version %d", version, abi.Version),
			Hint:    fmt.Sprintf("build it with an SDK for version %d, or run it on a host that speaks version %d", abi.Version, version),
		}
	}
	return nil
}

func (a *decodedModule) checkExports() error {
	for _, e := range a.Exports {
		name := e.Name
		if strings.HasPrefix(name, meter.Reserved) {
			return &Refusal{
				Reason: Unsupported, Problem: "export " + shorten(name) + " has a name that belongs to the host",
				Hint: "let no name begin with " + meter.Reserved,
			}
		}
		want, known := entryTypes()[name]
		if !known {
			continue
		}
		if e.Kind != wasm.KindFunc {
			return &Refusal{Reason: BadSignature, Problem: fmt.Sprintf("export %s is not a function", name), Hint: "export a function " + want.String()}
		}
		if res, _ := a.Type(e.Index); res != want {
			return &Refusal{
				Reason:  BadSignature,
				Problem: fmt.Sprintf("export %s has the signature %s instead of %s", name, res, want),
				Hint:    "the context is read with host functions, not from parameters",
			}
		}
		// The engine has neither a stack nor an instance for a call of these.
		if e.Index < uint32(a.Imported) {
			return &Refusal{
				Reason: BadSignature, Problem: fmt.Sprintf("export %s is a function that the module imports", name),
				Hint: "export a function of the module itself, which may call that one",
			}
		}
	}
	if a.Start != nil {
		if res, _ := a.Type(*a.Start); res != noneToNone {
			return &Refusal{
				Reason: BadSignature, Problem: fmt.Sprintf("the start function has the signature %s instead of %s", res, noneToNone),
				Hint: "let it take and return nothing",
			}
		}
	}
	return a.checkEntry()
}

// abiExports are the exports that the host may call.
func (a *decodedModule) abiExports() map[string]bool {
	there := map[string]bool{}
	for name := range entryTypes() {
		there[name] = a.exports(name)
	}
	return there
}

// Bytes that the engine has for each thing of an instance, as measured.
const (
	bytesTableEntry = 8 // of a table
	bytesGlobal     = 96
	bytesReference  = 48 // in an element segment
	bytesSegment    = 40
)

// instanceBytes is what the engine keeps for each instance beside its memory,
// with the tables as large as they may grow.
func (a *decodedModule) instanceBytes() uint64 {
	n := uint64(a.Globals)*bytesGlobal + uint64(a.Entries)*bytesReference + uint64(a.Segments)*bytesSegment
	for i := range a.Tables {
		n += uint64(a.maxTableEntries(i)) * bytesTableEntry
	}
	return n
}

func (a *decodedModule) exports(name string) bool {
	_, ok := a.Export(name)
	return ok
}

// checkEntry asks for something to call, and for the marker unless that is a
// command.
func (a *decodedModule) checkEntry() error {
	if a.exports(abi.ExportStart) {
		for name := range entryTypes() {
			if name != abi.ExportStart && name != abi.ExportInitialize && a.exports(name) {
				return &Refusal{
					Reason:  IsCommand,
					Problem: "the module is a command (it exports _start) and a job at once; a command's other exports must not be called",
					Hint:    reactorHint,
				}
			}
		}
		return nil
	}
	switch {
	case !a.exports(abi.ExportMarker):
		return &Refusal{
			Reason:  NoMarker,
			Problem: "the module does not export " + abi.ExportMarker + ", so it is not written for this host",
			Hint:    "use an SDK, or export an empty function of that name",
		}
	case len(a.kinds()) > 0:
		return nil
	case a.exports(abi.ExportFetch) || a.exports(abi.ExportProcess):
		return &Refusal{
			Reason:  NoEntry,
			Problem: "the module has one half of a dataflow job",
			Hint:    "export both " + abi.ExportFetch + " and " + abi.ExportProcess + ", " + noneToI32.String(),
		}
	}
	return &Refusal{Reason: NoEntry, Problem: "the module exports nothing that a job could call", Hint: "export " + abi.ExportExecute + " " + noneToI32.String()}
}

func (a *decodedModule) checkMemory() error {
	for _, im := range a.Imports {
		if im.Kind == wasm.KindMemory {
			return &Refusal{Reason: BadMemory, Problem: "the module imports its memory", Hint: "let the module define and export its own (no --import-memory)"}
		}
	}
	if a.Memory == nil {
		return &Refusal{Reason: BadMemory, Problem: "the module has no memory", Hint: "define one and export it as " + abi.ExportMemory}
	}
	if e, ok := a.Export(abi.ExportMemory); !ok || e.Kind != wasm.KindMemory || e.Index != 0 {
		return &Refusal{Reason: BadMemory, Problem: "the module does not export its memory", Hint: "export it as " + abi.ExportMemory}
	}
	return nil
}

// checkImports lists everything that is amiss, not just the first.
func (a *decodedModule) checkImports(offered map[string]map[string]wasm.FuncType) error {
	var unknown, wrong []string
	for _, im := range a.Imports {
		full := shorten(im.Module) + "." + shorten(im.Name)
		want, known := offered[im.Module][im.Name]
		switch {
		case im.Kind != wasm.KindFunc:
			unknown = append(unknown, full+" (not a function)")
		case known && want != im.Type:
			wrong = append(wrong, fmt.Sprintf("%s has the signature %s instead of %s", full, im.Type, want))
		case known:
		default:
			unknown = append(unknown, full)
		}
	}
	switch {
	case len(unknown) > 0:
		return &Refusal{Reason: BadImport, Problem: "the module imports what this host does not have: " + joinNames(unknown), Hint: importHint(unknown)}
	case len(wrong) > 0:
		return &Refusal{Reason: BadSignature, Problem: "import " + joinNames(wrong), Hint: "update the SDK, or compare with ABI.md"}
	}
	return nil
}

// importHint says what to do about imports that nobody offers.
func importHint(names []string) string {
	for _, n := range names {
		switch {
		case strings.HasPrefix(n, "wasi:"), strings.HasPrefix(n, "wasi_unstable"):
			return "build for " + wasiModule + " (wasip1)"
		case strings.HasPrefix(n, envModule+".Date."), strings.HasPrefix(n, envModule+".performance."):
			return "ask the SDK for the time, with the grant " + string(abi.GrantClock)
		case strings.HasPrefix(n, envModule+"."):
			return "a symbol was left unresolved at link time"
		case strings.HasPrefix(n, abi.Module+"."):
			return fmt.Sprintf("a newer host may have it; this one has version %d with %d additions", abi.Version, abi.HostMinor)
		}
	}
	return "only " + abi.Module + ", " + wasiModule + " and what AssemblyScript needs of " + envModule + " are offered"
}
