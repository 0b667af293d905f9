package sandbox

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wasmjob/wasmjob/abi"
)

func TestInspect(t *testing.T) {
	t.Parallel()
	b := &builder{memory: []byte{1, 1, 2, 10}, customSections: section(0, append(text("pro\nducers"), 0))}
	b.abi(abi.FuncLog)
	b.abi(abi.FuncStateGet)
	b.fromHost(wasiModule, "path_open", "", "")
	b.fromHost(wasiModule, "environ_get", valI32+valI32, valI32)
	b.fromHost("env", "other", "", "")
	b.entry(abi.ExportAfter, i32(0)).entry(abi.ExportStarted, i32(0)).entry(abi.ExportShard, i32(0)).entry(abi.ExportFetch, i32(0))
	wasm := b.job(i32(0))
	e := newEngine(t)
	got, err := e.Inspect(wasm)
	wantRefusal(t, err, BadImport, "env.other")
	want := Report{
		Digest: digestOf(wasm), Bytes: len(wasm), Kinds: []string{"simple", "strategy"}, Listeners: []string{"after", "started"}, ABI: 1,
		Exports: []Export{
			{abi.ExportAfter, "() -> (i32)"}, {abi.ExportStarted, "() -> (i32)"}, {abi.ExportShard, "() -> (i32)"}, {abi.ExportFetch, "() -> (i32)"},
			{abi.ExportMarker, "() -> ()"}, {abi.ExportExecute, "() -> (i32)"},
		},
		Imports: []Import{
			{Module: abi.Module, Name: abi.FuncLog, Signature: "(i32 i32 i32) -> ()"},
			{Module: abi.Module, Name: abi.FuncStateGet, Signature: "(i32 i32 i32 i32) -> (i32)", Grant: "state"},
			{Module: wasiModule, Name: "path_open", Signature: "() -> ()", Grant: "dirs"},
			{Module: wasiModule, Name: "environ_get", Signature: "(i32 i32) -> (i32)", Grant: "env"},
			{Module: "env", Name: "other", Signature: "() -> ()"},
		},
		Grants: []string{"state", "dirs", "env"}, MemoryMin: 2 * pageSize, MemoryMax: 10 * pageSize,
		Functions: 6, Sections: []string{`pro\nducers`},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	misspelled := &builder{}
	misspelled.fromHost(wasiModule, "fd_wirte", "", "")
	_, err = e.Inspect(misspelled.job(i32(0)))
	wantRefusal(t, err, BadImport, `did you mean "fd_write"?`)
	r, err := e.Inspect([]byte("no"))
	wantRefusal(t, err, NotWasm, "")
	if r.Digest != "" {
		t.Errorf("%+v", r)
	}
}
