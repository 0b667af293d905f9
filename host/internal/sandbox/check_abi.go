package sandbox

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/wasmjob/wasmjob/abi"
	"github.com/wasmjob/wasmjob/host/internal/meter"
	"github.com/wasmjob/wasmjob/host/internal/wasm"
	"github.com/wasmjob/wasmjob/internal/nearest"
)

const wasiModule = "wasi_snapshot_preview1"

var ( // signatures; read only
	noneToNone = wasm.FuncType{}
	noneToI32  = wasm.FuncType{Results: valI32}
)

// entryTypes returns the exports that the host calls or looks for, with their types.
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

// checkABI checks the exports, the memory and the imports of a module. offered lists
// the host's functions as module name → function name → signature.
func (m *decodedModule) checkABI(offered map[string]map[string]wasm.FuncType) error {
	if err := m.checkVersion(); err != nil {
		return err
	}
	if err := m.checkExports(); err != nil {
		return withHint(err)
	}
	if err := m.checkMemory(); err != nil {
		return err
	}
	return m.checkImports(offered)
}

// checkVersion refuses a module for another version of the contract, before its exports
// and imports are compared with this one. A module names its version by exporting a
// marker; one that has this version's marker too is accepted.
func (m *decodedModule) checkVersion() error {
	for _, e := range m.Exports {
		number, ok := strings.CutPrefix(e.Name, abi.MarkerPrefix)
		version, err := strconv.ParseUint(number, 10, 32)
		if !ok || err != nil || m.exports(abi.ExportMarker) {
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

// checkExports checks the exports that the host may call, and the start function: they
// must be functions of the module itself with the right types. It refuses names that the
// meter adds.
func (m *decodedModule) checkExports() error {
	for _, e := range m.Exports {
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
		if res, _ := m.Type(e.Index); res != want {
			return &Refusal{
				Reason:  BadSignature,
				Problem: fmt.Sprintf("export %s has the signature %s instead of %s", name, res, want),
				Hint:    "the context is read with host functions, not from parameters",
			}
		}
		// The engine cannot call an imported function from outside.
		if e.Index < uint32(m.Imported) {
			return &Refusal{
				Reason: BadSignature, Problem: fmt.Sprintf("export %s is a function that the module imports", name),
				Hint: "export a function of the module itself, which may call that one",
			}
		}
	}
	if m.Start != nil {
		if res, _ := m.Type(*m.Start); res != noneToNone {
			return &Refusal{
				Reason: BadSignature, Problem: fmt.Sprintf("the start function has the signature %s instead of %s", res, noneToNone),
				Hint: "let it take and return nothing",
			}
		}
	}
	return m.checkEntry()
}

// abiExports reports for each export that the host may call whether it exists.
func (m *decodedModule) abiExports() map[string]bool {
	there := map[string]bool{}
	for name := range entryTypes() {
		there[name] = m.exports(name)
	}
	return there
}

// Bytes that the engine uses for each part of an instance, as measured.
const (
	bytesTableEntry = 8 // per entry of a table
	bytesGlobal     = 96
	bytesReference  = 48 // per reference in an element segment
	bytesSegment    = 40
)

// instanceBytes returns the memory that the engine uses for an instance besides its
// linear memory, with tables at their maximum size.
func (m *decodedModule) instanceBytes() uint64 {
	n := uint64(m.Globals)*bytesGlobal + uint64(m.Entries)*bytesReference + uint64(m.Segments)*bytesSegment
	for i := range m.Tables {
		n += uint64(m.maxTableEntries(i)) * bytesTableEntry
	}
	return n
}

func (m *decodedModule) exports(name string) bool {
	_, ok := m.Export(name)
	return ok
}

// checkEntry requires an export to call and, unless the module is a command, the
// marker.
func (m *decodedModule) checkEntry() error {
	if m.exports(abi.ExportStart) {
		for name := range entryTypes() {
			if name != abi.ExportStart && name != abi.ExportInitialize && m.exports(name) {
				return &Refusal{
					Reason:  IsCommand,
					Problem: "the module is a command (it exports _start) and a job at once; a command's other exports must not be called",
					Hint:    reactorHint,
				}
			}
		}
		return nil
	}
	meant := m.misspelledExport()
	switch {
	case !m.exports(abi.ExportMarker):
		return &Refusal{
			Reason:  NoMarker,
			Problem: "the module does not export " + abi.ExportMarker + ", so it was not built for this host",
			Hint:    cmp.Or(meant, "use an SDK, or export an empty function of that name"),
		}
	case len(m.kinds()) > 0:
		return nil
	case m.exports(abi.ExportFetch) || m.exports(abi.ExportProcess):
		return &Refusal{
			Reason:  NoEntry,
			Problem: "the module exports only one of the two functions of a dataflow job",
			Hint:    cmp.Or(meant, "export both "+abi.ExportFetch+" and "+abi.ExportProcess+", "+noneToI32.String()),
		}
	}
	return &Refusal{Reason: NoEntry, Problem: "the module exports no function that a job could call", Hint: cmp.Or(meant, "export "+abi.ExportExecute+" "+noneToI32.String())}
}

// misspelledExport asks whether an unknown export was meant to be one that the host calls or
// looks for and that the module lacks; "" if none is close to one.
func (m *decodedModule) misspelledExport() string {
	known := entryTypes()
	lacking := slices.DeleteFunc(slices.Sorted(maps.Keys(known)), m.exports)
	for _, e := range m.Exports {
		if _, ok := known[e.Name]; ok || e.Kind != wasm.KindFunc || !strings.HasPrefix(e.Name, "wasmjob_") {
			continue
		}
		if question := nearest.Question(e.Name, lacking); question != "" {
			return "it exports " + shorten(e.Name) + ": " + question
		}
	}
	return ""
}

// checkMemory requires that the module defines one memory and exports it. The host reads
// and writes arguments there, and limits the memory of each instance.
func (m *decodedModule) checkMemory() error {
	for _, im := range m.Imports {
		if im.Kind == wasm.KindMemory {
			return &Refusal{Reason: BadMemory, Problem: "the module imports its memory", Hint: "let the module define and export its own (no --import-memory)"}
		}
	}
	if m.Memory == nil {
		return &Refusal{Reason: BadMemory, Problem: "the module has no memory", Hint: "define one and export it as " + abi.ExportMemory}
	}
	if e, ok := m.Export(abi.ExportMemory); !ok || e.Kind != wasm.KindMemory || e.Index != 0 {
		return &Refusal{Reason: BadMemory, Problem: "the module does not export its memory", Hint: "export it as " + abi.ExportMemory}
	}
	return nil
}

const missing = "the module has imports that this host does not provide: "

// checkImports reports all faulty imports, not just the first.
func (m *decodedModule) checkImports(offered map[string]map[string]wasm.FuncType) error {
	var unknown, wrong []string
	meant := "" // asks about the first unknown import that is close to a known one
	for _, im := range m.Imports {
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
			if meant == "" && im.Module != envModule {
				meant = nearest.Question(im.Name, slices.Sorted(maps.Keys(offered[im.Module])))
			}
		}
	}
	switch {
	case len(unknown) > 0 && meant != "":
		return &Refusal{Reason: BadImport, Problem: missing + joinNames(unknown), Hint: meant + " If not, " + importHint(unknown)}
	case len(unknown) > 0:
		return &Refusal{Reason: BadImport, Problem: missing + joinNames(unknown), Hint: importHint(unknown)}
	case len(wrong) > 0:
		return &Refusal{Reason: BadSignature, Problem: "import " + joinNames(wrong), Hint: "update the SDK, or compare with ABI.md"}
	}
	return nil
}

// importHint returns advice for imports that this host does not have.
func importHint(names []string) string {
	for _, n := range names {
		switch {
		case strings.HasPrefix(n, "wasi:"), strings.HasPrefix(n, "wasi_unstable"):
			return "build for " + wasiModule + " (wasip1)"
		case strings.HasPrefix(n, envModule+".Date."), strings.HasPrefix(n, envModule+".performance."):
			return "ask the SDK for the time, with the grant " + string(abi.GrantClock)
		case strings.HasPrefix(n, envModule+"."):
			return "a symbol was not resolved at link time"
		case strings.HasPrefix(n, abi.Module+"."):
			return fmt.Sprintf("a newer host may have it; this host has version %d with %d additions", abi.Version, abi.HostMinor)
		case strings.HasPrefix(n, wasiModule+"."):
			return wasiModule + " is available, but without this function; build for wasip1"
		}
	}
	return "only " + abi.Module + ", " + wasiModule + " and AssemblyScript's functions of " + envModule + " are available"
}
