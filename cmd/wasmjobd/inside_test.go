package main

import (
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestInsideScripts type what a person types beside a server whose registry is
// inside it.
func TestInsideScripts(t *testing.T) {
	t.Parallel()
	wat, err := filepath.Abs("../../abi/conformance/wat")
	if err != nil {
		t.Fatal(err)
	}
	long, err := filepath.Abs("../../plugins/examples/long-wat/long.wasm")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:  "testdata/inside",
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"until": until},
		Setup: func(e *testscript.Env) error {
			e.Setenv("WAT", wat)
			e.Setenv("OK", filepath.Join(wat, "ok.wasm"))
			e.Setenv("LONG", long)
			e.Setenv("WASMJOBD_SERVER__LOG__FORMAT", "json")
			return nil
		},
	})
}
