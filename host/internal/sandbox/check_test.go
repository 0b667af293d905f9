package sandbox

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/wasmjob/wasmjob/abi"
	"github.com/wasmjob/wasmjob/host/job"
)

// offeredHere is what an engine offers, as far as the tests import it.
func offeredHere() map[string]map[string]funcType {
	o := map[string]map[string]funcType{abi.Module: {}, wasiModule: {"proc_exit": {params: valI32}}}
	for _, f := range hostFunctions() {
		o[abi.Module][f.name] = f.typ
	}
	o[envModule] = map[string]funcType{}
	for _, f := range assemblyFunctions() {
		o[envModule][f.name] = f.typ
	}
	return o
}

func inspect(wasm []byte) error {
	a, err := decode(wasm, defaultModule)
	if err != nil {
		return err
	}
	return a.admit(offeredHere())
}

func wantRefusal(t *testing.T, err error, why Reason, inText string) {
	t.Helper()
	if !refused(err, why) || !strings.Contains(err.Error(), inText) {
		t.Errorf("got %v; want a refusal %q with %q", err, why, inText)
	}
}

func TestAdmission(t *testing.T) {
	t.Parallel()
	zero := i32(0)
	plainJob := func() []byte { return (&builder{}).job(zero) }
	if err := inspect(plainJob()); err != nil {
		t.Fatal(err)
	}
	noMarker := &builder{}
	noMarker.export(abi.ExportExecute, kindFunc, noMarker.fn("", valI32, 0, zero))
	noMarker.pages(1).export("memory", kindMemory, 0)
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
	notFunc := (&builder{}).export(abi.ExportAfter, kindMemory, 0)
	imports := &builder{}
	imports.fromHost("env", "abort", valI32+valI32+valI32+valI32, "")
	imports.fromHost("env", "_emit", "", "")
	imports.fromHost("wasmjob_v1", "teleport", "", "")
	fromElsewhere := imports.job(zero)
	newer := &builder{}
	newer.fromHost(abi.Module, "teleport", "", "")
	wrong := &builder{}
	wrong.fromHost(abi.Module, abi.FuncCtxInt, valI32, valI32)
	noMemory := &builder{}
	noMemory.memory = []byte{0}
	importedMemory := &builder{}
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
		{"no entry", noEntry.bytes(), NoEntry, abi.ExportExecute},
		{"half a dataflow", dataflow.bytes(), NoEntry, abi.ExportProcess},
		{"command and job", both.job(zero), IsCommand, "c-shared"},
		{"command and listener", listens.bytes(), IsCommand, "c-shared"},
		{"listener alone", onlyListens.guest(), NoEntry, abi.ExportExecute},
		{"export with parameters", params.job(zero), BadSignature, "(i32) -> () instead of () -> ()"},
		{"export not a function", notFunc.job(zero), BadSignature, "not a function"},
		{"unknown imports", fromElsewhere, BadImport, ": env._emit, wasmjob_v1.teleport"},
		{"from a newer contract", newer.job(zero), BadImport, "this one has version 1 with 1 additions"},
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

// withSection is a module that has nothing but the given sections.
func withSection(sections ...[]byte) []byte {
	return append([]byte("\x00asm\x01\x00\x00\x00"), slices.Concat(sections...)...)
}

var huge = []byte{0xff, 0xff, 0xff, 0xff, 0x0f} // 2^32-1

func TestCountsAreHeldAgainstTheBytes(t *testing.T) {
	t.Parallel()
	oneType := section(1, []byte{1, 0x60, 0, 0})
	for id, what := range map[byte]string{
		1: "types", 2: "imports", 3: "functions", 4: "tables", 5: "memories", 6: "globals",
		7: "exports", 9: "element segments", 10: "function bodies", 11: "data segments",
	} {
		wantRefusal(t, inspect(withSection(section(id, huge))), Damaged, "4294967295 "+what)
	}
	body := func(b ...[]byte) []byte {
		code := slices.Concat(b...)
		return withSection(oneType, section(3, []byte{1, 0}), section(10, slices.Concat([]byte{1}, uleb(uint32(len(code))), code)))
	}
	manyLocals := slices.Concat([]byte{1}, uleb(maxLocals+1), []byte{0x7f, opEnd})
	for _, tt := range []struct {
		name string
		wasm []byte
		why  Reason
		text string
	}{
		{"parameters", withSection(section(1, slices.Concat([]byte{1, 0x60}, huge))), Damaged, "parameters"},
		{"too many parameters", withSection(section(1, slices.Concat([]byte{1, 0x60}, uleb(2000), make([]byte, 3000)))), TooBig, "2000 parameters"},
		{"locals", body(manyLocals), TooBig, "50001 locals"},
		{"locals beyond 32 bits", body([]byte{2}, huge, []byte{0x7f}, huge, []byte{0x7f, opEnd}), TooBig, "locals"},
		{"groups of locals", body(huge), Damaged, "groups of locals"},
		{"table", withSection(section(4, slices.Concat([]byte{1, 0x70, 0}, uleb(maxTable+1)))), TooBig, "500001 entries"},
		{"tables together", withSection(section(4, slices.Concat([]byte{3}, bytes.Repeat(slices.Concat([]byte{0x70, 0}, uleb(200_000)), 3)))), TooBig, "500000 entries"},
		{"table upside down", withSection(section(4, []byte{1, 0x70, 1, 5, 4})), Damaged, "at least 5"},
		{"name of a custom section", withSection(section(0, huge)), Damaged, "custom section"},
		{"long name", withSection(section(7, slices.Concat([]byte{1}, uleb(maxName+1), make([]byte, maxName+10)))), TooBig, "100001 bytes"},
		{"memory", withSection(section(5, slices.Concat([]byte{1, 0}, uleb(maxPages+1)))), Damaged, "4 GiB"},
		{"shared memory", withSection(section(5, []byte{1, 3, 1, 1})), Unsupported, "threads"},
		{"elements", withSection(section(9, slices.Concat([]byte{1, 0, 0x41, 0, opEnd}, huge))), Damaged, "elements"},
		{"data", withSection(section(11, slices.Concat([]byte{1, 1}, huge))), Damaged, "declared where"},
		{"br_table", body([]byte{0, 0x41, 0, 0x0e}, huge), Damaged, "targets of br_table"},
		{"select", body([]byte{0, 0x1c}, huge), Damaged, "types of select"},
		{"branches", body([]byte{0}, bytes.Repeat([]byte{0x02, 0x40}, maxBranches+1)), TooBig, "branches"},
		{"section too long", withSection([]byte{1}, huge), Damaged, "declared where"},
		{"sections out of order", withSection(section(3, []byte{0}), oneType), Damaged, "out of order"},
		{"section twice", withSection(oneType, oneType), Damaged, "repeated"},
		{"left over", withSection(section(3, []byte{0, 0})), Damaged, "1 bytes too many"},
		{"code after the end", body([]byte{0, opEnd, opEnd}), Damaged, "too many"},
		{"function without code", withSection(oneType, section(3, []byte{1, 0})), Damaged, "no code"},
		{"bodies missing", withSection(oneType, section(3, []byte{2, 0, 0}), section(10, []byte{1, 2, 0, opEnd})), Damaged, "bodies"},
		{"number too long", withSection(section(3, []byte{0x80, 0x80, 0x80, 0x80, 0x80, 0})), Damaged, "32 bits"},
		{"tags", withSection(section(13, []byte{0})), Unsupported, "exception"},
		{"tail call", body([]byte{0, 0x12, 0, opEnd}), Unsupported, "tail calls"},
		{"atomics", body([]byte{0, 0xfe, 0, opEnd}), Unsupported, "threads"},
		{"relaxed vectors", body([]byte{0, 0xfd, 0x80, 0x02, opEnd}), Unsupported, "relaxed"},
		{"garbage collection", withSection(section(1, []byte{1, 0x5f, 0, 0})), Unsupported, "garbage"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			wantRefusal(t, inspect(tt.wasm), tt.why, tt.text)
		})
	}
}

func TestEffortIsBounded(t *testing.T) {
	t.Parallel()
	// Each function alone is within the bound of branches.
	b := &builder{}
	blocks := maxBranches - 1
	for range 6 {
		b.fn("", "", 0, bytes.Repeat([]byte{0x02, 0x40}, blocks), bytes.Repeat([]byte{opEnd}, blocks))
	}
	wantRefusal(t, inspect(b.job(i32(0))), TooBig, "too much time or memory")

	// Two bytes of code that move 1100 values.
	b = &builder{}
	f := b.fn(strings.Repeat(valI32, maxParams), strings.Repeat(valI32, maxResults), 0, op(opUnreachable))
	b.fn("", "", 0, op(opUnreachable), bytes.Repeat(call(f), 2000))
	wantRefusal(t, inspect(b.job(i32(0))), TooBig, "pass more than")
}

func TestTablesThatGrow(t *testing.T) {
	t.Parallel()
	grow := func(b *builder) []byte { return b.job(op(0xd0, 0x70), i32(1), op(0xfc, 15, 0)) }
	most := slices.Concat(op(0x70, 1), uleb(maxTable-maxGrown), uleb(maxTable-maxGrown))
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
			wantRefusal(t, err, TooBig, "in all")
		}
	}
}

// A damaged list of names is cut out, and the module runs.
func TestNamesThatLieAreCutOut(t *testing.T) {
	t.Parallel()
	lies := func(body ...[]byte) []byte { return section(0, slices.Concat(text("name"), slices.Concat(body...))) }
	for name, tail := range map[string][]byte{
		"functions": lies([]byte{1, 5}, huge),
		"locals":    lies([]byte{2, 7, 1, 0}, huge),
		"size":      lies([]byte{1}, huge),
		"twice":     append(lies([]byte{1, 5}, huge), lies([]byte{1, 5}, huge)...),
	} {
		b := &builder{tailSections: tail}
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
		tail []byte
		text string
	}{
		{names(5), `.\x07\x07\x07\x07\x07() i32`},
		{names(maxName), `.\x07\x07`},
		{names(maxName + 1), ".$1() i32"},
		{append(names(1), names(2)...), `.\x07() i32`}, // the second list is cut out
	} {
		out := runOnce(t, (&builder{tailSections: tt.tail}).job(op(opUnreachable)), job.Call{})
		expect(t, out, job.Failure, tt.text)
		if len(out.Error) > maxFailure+10 {
			t.Errorf("an error of %d bytes", len(out.Error))
		}
	}
}

// Everything that the check lets pass must be safe for the engine, which is
// what the fuzzer looks for; what it refuses must be a Refusal.
func FuzzCheck(f *testing.F) {
	f.Add((&builder{}).job(i32(0)))
	f.Add(asker())
	f.Add(readField(1, 10))
	f.Add(withSection(section(1, huge)))
	f.Add(withSection(section(0, append(text("name"), 1, 5, 0xff, 0xff, 0xff, 0xff, 0x0f))))
	b := &builder{table: []byte{1, 0x70, 0, 1}, element: []byte{1, 0, 0x41, 0, opEnd, 1, 0}}
	f.Add(b.at(5, "data").job(i64(-5), op(opDrop), i32(0), op(0x04, 0x7f), i32(1), op(0x05), i32(2), op(opEnd)))
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
		if err != nil && !errors.As(err, &r) {
			t.Fatalf("not a refusal: %v", err)
		}
		if err == nil {
			m.Close()
		}
		if _, err := e.Inspect(wasm); err != nil && !errors.As(err, &r) {
			t.Fatalf("not a refusal: %v", err)
		}
	})
}
