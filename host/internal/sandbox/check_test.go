package sandbox

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/wasmjob/wasmjob/abi"
	"github.com/wasmjob/wasmjob/host/internal/wasm"
	"github.com/wasmjob/wasmjob/host/job"
)

// offeredHere lists the functions that an engine offers, as far as the tests import them.
func offeredHere() map[string]map[string]wasm.FuncType {
	o := map[string]map[string]wasm.FuncType{abi.Module: {}, wasiModule: {"proc_exit": {Params: valI32}}}
	for _, f := range hostFunctions() {
		o[abi.Module][f.name] = f.typ
	}
	o[envModule] = map[string]wasm.FuncType{}
	for _, f := range assemblyFunctions() {
		o[envModule][f.name] = f.typ
	}
	return o
}

// checked decodes and checks a module as far as admission needs.
func checked(binary []byte) (*decodedModule, error) {
	m, err := decode(binary, defaultModule)
	if err != nil {
		return nil, err
	}
	a := &decodedModule{Module: m}
	if err := a.checkABI(offeredHere()); err != nil {
		return nil, err
	}
	return a, a.checkBounds(0)
}

func inspect(binary []byte) error {
	_, err := checked(binary)
	return err
}

func wantRefusal(t *testing.T, err error, why Reason, inText string) {
	t.Helper()
	if r, ok := errors.AsType[*Refusal](err); !ok || r.Reason != why || !strings.Contains(err.Error(), inText) {
		t.Errorf("got %v; want a refusal %q with %q", err, why, inText)
	}
}

func TestModuleChecks(t *testing.T) {
	t.Parallel()
	zero := i32(0)
	plainJob := func() []byte { return (&builder{}).job(zero) }
	if err := inspect(plainJob()); err != nil {
		t.Fatal(err)
	}
	noMarker := &builder{}
	noMarker.export(abi.ExportExecute, kindFunc, noMarker.fn("", valI32, 0, zero))
	noMarker.pages(1).export("memory", kindMemory, 0)
	later := &builder{} // with another signature of an export
	later.export("wasmjob_abi_v2", kindFunc, later.fn("", "", 0)).export(abi.ExportExecute, kindFunc, later.fn(valI32, valI32, 0, zero))
	noEntry := &builder{}
	noEntry.export(abi.ExportMarker, kindFunc, noEntry.fn("", "", 0)).pages(1).export("memory", kindMemory, 0)
	dataflow := &builder{}
	dataflow.export(abi.ExportMarker, kindFunc, dataflow.fn("", "", 0))
	dataflow.export(abi.ExportFetch, kindFunc, dataflow.fn("", valI32, 0, zero))
	listens := (&builder{}).entry(abi.ExportBefore, zero)
	listens.export(abi.ExportStart, kindFunc, listens.fn("", "", 0))
	onlyListens := (&builder{}).entry(abi.ExportBefore, zero)
	both := &builder{}
	both.export(abi.ExportStart, kindFunc, both.fn("", "", 0))
	params := &builder{}
	params.export(abi.ExportInitialize, kindFunc, params.fn(valI32, "", 0))
	handedOn := &builder{}
	handedOn.export(abi.ExportBefore, kindFunc, handedOn.abi(abi.FuncCancelled))
	startsWrong := &builder{}
	startsWrong.starting(startsWrong.fn(valI32, "", 0))
	notFunc := (&builder{}).export(abi.ExportAfter, kindMemory, 0)
	imports := &builder{}
	imports.fromHost("env", "abort", valI32+valI32+valI32+valI32, "")
	imports.fromHost("env", "_emit", "", "")
	imports.fromHost("wasmjob_v1", "teleport", "", "")
	fromElsewhere := imports.job(zero)
	date := &builder{}
	date.fromHost("env", "Date.now", "", valF64)
	newer := &builder{}
	newer.fromHost(abi.Module, "teleport", "", "")
	misspelled := &builder{}
	misspelled.fromHost(abi.Module, "state_gett", "", "")
	ofWASI := &builder{}
	ofWASI.fromHost(wasiModule, "sock_open", "", "")
	misnamed := func(b *builder, name string) []byte {
		b.export(abi.ExportMarker, kindFunc, b.fn("", "", 0))
		return b.export(name, kindFunc, b.fn("", valI32, 0, zero)).pages(1).export("memory", kindMemory, 0).bytes()
	}
	fetches := &builder{}
	fetches.export(abi.ExportFetch, kindFunc, fetches.fn("", valI32, 0, zero))
	unmarked := &builder{}
	unmarked.export("wasmjob_abi_1", kindFunc, unmarked.fn("", "", 0)).export(abi.ExportExecute, kindFunc, unmarked.fn("", valI32, 0, zero))
	wrong := &builder{}
	wrong.fromHost(abi.Module, abi.FuncCtxInt, valI32, valI32)
	noMemory := &builder{}
	noMemory.memory = []byte{0}
	importedMemory := &builder{memory: []byte{0}}
	importedMemory.imports = append(importedMemory.imports, slices.Concat(text("env"), text("memory"), []byte{kindMemory, 0, 1}))
	hiddenMemory := &builder{}
	hiddenMemory.export(abi.ExportMarker, kindFunc, hiddenMemory.fn("", "", 0)).
		export(abi.ExportExecute, kindFunc, hiddenMemory.fn("", valI32, 0, zero)).pages(1)

	for _, tt := range []struct {
		name string
		wasm []byte
		why  Reason
		text string
	}{
		{"empty", nil, NotWasm, "not a Wasm binary"},
		{"text", []byte("(module)....."), NotWasm, "not a Wasm binary"},
		{"version", []byte("\x00asm\x02\x00\x00\x00"), NotWasm, "unknown version"},
		{"component", []byte("\x00asm\x0d\x00\x01\x00"), IsComponent, "component"},
		{"nothing in it", []byte("\x00asm\x01\x00\x00\x00"), NoMarker, abi.ExportMarker},
		{"no marker", noMarker.bytes(), NoMarker, abi.ExportMarker},
		{"of a later version", later.bytes(), NoMarker, "written for version 2 of the contract; this host speaks version 1"},
		{"no entry", noEntry.bytes(), NoEntry, abi.ExportExecute},
		{"half a dataflow", dataflow.bytes(), NoEntry, abi.ExportProcess},
		{"command and job", both.job(zero), IsCommand, "c-shared"},
		{"command and listener", listens.bytes(), IsCommand, "c-shared"},
		{"listener alone", onlyListens.guest(), NoEntry, abi.ExportExecute},
		{"export with parameters", params.job(zero), BadSignature, "(i32) -> () instead of () -> ()"},
		{"export of an import", handedOn.job(zero), BadSignature, "wasmjob_before is a function that the module imports"},
		{"start function with parameters", startsWrong.job(zero), BadSignature, "start function has the signature (i32) -> ()"},
		{"export not a function", notFunc.job(zero), BadSignature, "not a function"},
		{"unknown imports", fromElsewhere, BadImport, ": env._emit, wasmjob_v1.teleport"},
		{"clock of AssemblyScript", date.job(zero), BadImport, "with the grant clock"},
		{"from a newer contract", newer.job(zero), BadImport, fmt.Sprintf("this host has version 1 with %d additions", abi.HostMinor)},
		{"misspelled import", misspelled.job(zero), BadImport, `did you mean "state_get"? If not, a newer host may have it; this host has version 1`},
		{"import of WASI", ofWASI.job(zero), BadImport, "provide: wasi_snapshot_preview1.sock_open; " + wasiModule + " is available, but without this function"},
		{"misspelled entry", misnamed(&builder{}, "wasmjob_exceute"), NoEntry, `it exports wasmjob_exceute: did you mean "wasmjob_execute"?`},
		{"misspelled half of a dataflow", misnamed(fetches, "wasmjob_procss"), NoEntry, `it exports wasmjob_procss: did you mean "wasmjob_process"?`},
		{"misspelled marker", unmarked.bytes(), NoMarker, `it exports wasmjob_abi_1: did you mean "wasmjob_abi_v1"?`},
		{"another name", misnamed(&builder{}, "execute"), NoEntry, "could call; export wasmjob_execute"},
		{"import of another type", wrong.job(zero), BadSignature, "ctx_int has the signature (i32) -> (i32) instead of (i32) -> (i64)"},
		{"no memory", noMemory.job(zero), BadMemory, "no memory"},
		{"imported memory", importedMemory.job(zero), BadMemory, "imports its memory"},
		{"memory not exported", hiddenMemory.bytes(), BadMemory, "not export its memory"},
		{"breaks off", plainJob()[:40], Damaged, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			wantRefusal(t, inspect(tt.wasm), tt.why, tt.text)
		})
	}
	_, err := decode(plainJob(), 20)
	wantRefusal(t, err, TooBig, "limit is 20")
}

// withSection returns a module that has only the given sections.
func withSection(sections ...[]byte) []byte {
	return append([]byte("\x00asm\x01\x00\x00\x00"), slices.Concat(sections...)...)
}

var huge = []byte{0xff, 0xff, 0xff, 0xff, 0x0f} // 2^32-1

func TestEffortIsBounded(t *testing.T) {
	t.Parallel()
	// Each function alone is within the limit of branches.
	b := &builder{}
	blocks := 50_000 - 1
	for range 6 {
		b.fn("", "", 0, bytes.Repeat([]byte{0x02, 0x40}, blocks), bytes.Repeat([]byte{opEnd}, blocks))
	}
	wantRefusal(t, inspect(b.job(i32(0))), TooBig, "too much time or memory")

	// Two bytes of code that pass 1100 values.
	b = &builder{}
	f := b.fn(strings.Repeat(valI32, 1000), strings.Repeat(valI32, 100), 0, op(opUnreachable))
	b.fn("", "", 0, op(opUnreachable), bytes.Repeat(call(f), 2000))
	wantRefusal(t, inspect(b.job(i32(0))), TooBig, "pass more than")
}

func TestTablesAreBounded(t *testing.T) {
	t.Parallel()
	tables := func(n, entries int) error {
		one := slices.Concat([]byte{0x70, 0}, uleb(uint32(entries)))
		return inspect((&builder{table: append([]byte{byte(n)}, bytes.Repeat(one, n)...)}).job(i32(0)))
	}
	wantRefusal(t, tables(1, maxTable+1), TooBig, "500000 entries")
	wantRefusal(t, tables(3, 200_000), TooBig, "500000 entries")
	wantRefusal(t, tables(100, 1<<32-1), TooBig, "500000 entries")
}

func TestTablesThatGrow(t *testing.T) {
	t.Parallel()
	grow := func(b *builder) []byte { return b.job(op(0xd0, 0x70), i32(1), op(0xfc, 15, 0)) }
	most := slices.Concat(op(0x70, 1), uleb(maxTable-maxTableGrowth), uleb(maxTable-maxTableGrowth))
	for _, tt := range []struct {
		name  string
		table []byte
		ok    bool
	}{
		{"no maximum", op(1, 0x70, 0, 1), true},
		{"large maximum", slices.Concat(op(1, 0x70, 1, 1), uleb(1<<32-1)), true},
		{"beside others", slices.Concat(op(2, 0x70, 0, 1), most), true},
		{"beside too many", slices.Concat(op(3, 0x70, 0, 1), most, op(0x70, 0, 1)), false},
		{"small, beside as many", slices.Concat(op(3, 0x70, 1, 1, 10), most, op(0x70, 0, 1)), true},
	} {
		err := inspect(grow(&builder{table: tt.table}))
		if tt.ok && err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
		if !tt.ok {
			wantRefusal(t, err, TooBig, "in total")
		}
	}
}

// A damaged list of names is removed, and the module runs.
func TestNamesThatLieAreCutOut(t *testing.T) {
	t.Parallel()
	lies := func(body ...[]byte) []byte { return section(0, slices.Concat(text("name"), slices.Concat(body...))) }
	for name, sections := range map[string][]byte{
		"functions": lies([]byte{1, 5}, huge),
		"locals":    lies([]byte{2, 7, 1, 0}, huge),
		"size":      lies([]byte{1}, huge),
		"twice":     append(lies([]byte{1, 5}, huge), lies([]byte{1, 5}, huge)...),
	} {
		b := &builder{customSections: sections}
		e := newEngine(t)
		m := load(t, e, b.job(i32(3)))
		if out := e.Run(t.Context(), m, job.Call{}); out.Code != 3 {
			t.Errorf("%s: %+v", name, out)
		}
	}
}

// Names end up in the stack of a trap, up to thirty of them.
func TestNamesAreNotTooLong(t *testing.T) {
	t.Parallel()
	names := func(length int) []byte {
		list := slices.Concat([]byte{1, 1}, text(strings.Repeat("\x07", length))) // of the function 1, the entry
		return section(0, slices.Concat(text("name"), []byte{1}, text(string(list))))
	}
	for _, tt := range []struct {
		sections []byte
		text     string
	}{
		{names(5), `.\x07\x07\x07\x07\x07() i32`},
		{names(wasm.MaxName), `.\x07\x07`},
		{names(wasm.MaxName + 1), ".$1() i32"},
		{append(names(1), names(2)...), `.\x07() i32`}, // the second list is removed
	} {
		out := runOnce(t, (&builder{customSections: tt.sections}).job(op(opUnreachable)), job.Call{})
		expect(t, out, job.Failure, tt.text)
		if len(out.Error) > maxFailure+10 {
			t.Errorf("an error of %d bytes", len(out.Error))
		}
	}
}

// Every module that the check accepts must be safe for the engine; the fuzzer looks for
// others. Every error must be a Refusal.
func FuzzCheck(f *testing.F) {
	f.Add((&builder{}).job(i32(0)))
	f.Add(asker())
	f.Add(readField(1, 10))
	f.Add(withSection(section(1, huge)))
	f.Add(withSection(section(0, append(text("name"), 1, 5, 0xff, 0xff, 0xff, 0xff, 0x0f))))
	b := &builder{table: []byte{1, 0x70, 0, 1}, element: []byte{1, 0, 0x41, 0, opEnd, 1, 0}}
	f.Add(b.putData(5, "data").job(i64(-5), op(opDrop), i32(0), op(0x04, 0x7f), i32(1), op(0x05), i32(2), op(opEnd)))
	e, err := New(Options{MaxModule: 1 << 16})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() {
		if err := e.Close(); err != nil {
			f.Error(err)
		}
	})
	f.Fuzz(func(t *testing.T, wasm []byte) {
		m, err := e.Load(t.Context(), wasm)
		var r *Refusal
		if err != nil && (!errors.As(err, &r) || r.Hint == hostFault) {
			t.Fatalf("not a refusal of the module: %v", err)
		}
		if err == nil {
			m.Close()
		}
		if _, err := e.Inspect(wasm); err != nil && !errors.As(err, &r) {
			t.Fatalf("not a refusal: %v", err)
		}
	})
}

// A panic of the host while it reads a module is a refusal, not the end of the server.
func TestPanicOfReadingIsARefusal(t *testing.T) {
	t.Parallel()
	broken := &decodedModule{Module: nil}
	var refused *Refusal
	if err := broken.checkBounds(0); !errors.As(err, &refused) || refused.Reason != Damaged || !strings.Contains(refused.Problem, "nil pointer") {
		t.Errorf("got %v", err)
	}
}

// A refusal is remembered, so it stays short however many long signatures a module has.
func TestRefusalsAreShort(t *testing.T) {
	t.Parallel()
	b := &builder{}
	for range 1000 {
		b.fromHost(abi.Module, "ctx_int", strings.Repeat(valI32, 900), "")
	}
	err := inspect(b.job(i32(0)))
	wantRefusal(t, err, BadSignature, "ctx_int has the signature (i32 i32")
	wantRefusal(t, err, BadSignature, "i32 and 880 more) -> () instead of")
	if n := len(err.Error()); n > maxNamesText+200 {
		t.Errorf("%d bytes", n)
	}
}
