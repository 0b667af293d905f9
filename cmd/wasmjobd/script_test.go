package main

import (
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/wasmjob/wasmjob/host/trace/sqltrace/sqltest"
	"github.com/wasmjob/wasmjob/internal/signaturetest"
)

// TestMain lets scripts run the program as "wasmjobd": the test binary starts itself, so a
// script sees the real exit codes.
func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) != "wasmjobd" && signal.Ignored(syscall.SIGHUP) {
		// Otherwise, under nohup, servers started here would ignore it as well.
		signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP)
	}
	testscript.Main(sqltest.Main{M: m}, map[string]func(){"wasmjobd": main, "sign": sign})
}

// sign implements the script command "sign WHO FILE", which writes FILE.minisig.
func sign() {
	wasm, err := os.ReadFile(os.Args[2])
	if err == nil {
		err = os.WriteFile(os.Args[2]+signatureSuffix, signaturetest.New(os.Args[1]).Sign(wasm), 0o600)
	}
	if err != nil {
		panic(err)
	}
}

func TestScripts(t *testing.T) {
	t.Parallel()
	wat, err := filepath.Abs("../../abi/conformance/wat")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(e *testscript.Env) error {
			e.Setenv("WAT", wat) // modules for many purposes
			e.Setenv("HOME", filepath.Join(e.WorkDir, "home"))
			return nil
		},
	})
}
