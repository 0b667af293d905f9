package main

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestInsideScripts run the commands of a user beside a server with the registry inside.
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
	kept, err := filepath.Abs("testdata/kept/data.tgz")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir: "testdata/inside",
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"until": until,
			"rows":  func(ts *testscript.TestScript, neg bool, args []string) { addRows(t.Context(), ts, neg, args) },
		},
		Setup: func(e *testscript.Env) error {
			e.Setenv("WAT", wat)
			e.Setenv("HOOK", hook(e))
			e.Setenv("OK", filepath.Join(wat, "ok.wasm"))
			e.Setenv("LONG", long)
			e.Setenv("KEPT", kept)
			goCaches(e)
			e.Setenv("WASMJOBD_SERVER__LOG__FORMAT", "json")
			return nil
		},
	})
}

// goCaches lets a script build a guest with the caches of this machine, without a network.
func goCaches(e *testscript.Env) {
	e.Setenv("GOPROXY", "off")
	e.Setenv("GOFLAGS", "-mod=mod")
	if cache, err := os.UserCacheDir(); err == nil {
		e.Setenv("GOCACHE", filepath.Join(cache, "go-build"))
	}
}

// hook starts a webhook that appends what it receives to the script's file hook, and returns
// its address.
func hook(e *testscript.Env) string {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err == nil {
			body = append(body, []byte(" signed "+r.Header.Get("Wasmjobd-Signature")+"\n")...)
			err = appendTo(filepath.Join(e.WorkDir, "hook"), body)
		}
		if err != nil {
			w.WriteHeader(http.StatusInternalServerError)
		}
	}))
	e.Defer(s.Close)
	return s.URL
}

func appendTo(path string, text []byte) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	return errors.Join(err, f.Close())
}
