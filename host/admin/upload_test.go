package admin

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/guest"
	"github.com/wasmjob/wasmjob/host/operator"
)

func pushing(dir string) *Handler {
	return NewHandler(Options{
		Operate: onMemory, Push: &operator.Push{Examine: guest.Examine, Given: func(key string) bool { return key == "clock" }},
		Keep: func(r io.Reader, digest string, s host.Signing) error { return host.KeepModule(dir, r, digest, s) },
	})
}

func kept(t *testing.T, dir string) []string {
	t.Helper()
	all, err := filepath.Glob(filepath.Join(dir, "*", "*"))
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// A module is saved with its report, and not by a dry run.
func TestUploadWithAReport(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	h := pushing(dir)
	wasm, err := os.ReadFile("../../abi/conformance/wat/deal.wasm")
	if err != nil {
		t.Fatal(err)
	}
	for _, dry := range []bool{true, false} {
		path := modulesPath
		if dry {
			path += "?dry_run=true"
		}
		w := answered(t, h, "POST", path, string(wasm), wasmType)
		var d operator.PushReport
		if err := json.Unmarshal(w.Body.Bytes(), &d); err != nil || w.Code != http.StatusOK {
			t.Fatal(w.Code, w.Body, err)
		}
		if d.Digest != digestOf(string(wasm)) || !d.Runs || d.Saved == dry || (d.Held == 1) == dry || d.Trial == nil || d.Trial.Kind != "strategy" {
			t.Errorf("dry %v: %+v", dry, d)
		}
		if len(d.Asked) != 2 || d.Asked[0] != (operator.AskedGrant{Key: "clock", Given: true}) || d.Asked[1].Given {
			t.Errorf("grants: %+v", d.Asked)
		}
		if all := kept(t, dir); (len(all) == 0) != dry {
			t.Errorf("dry %v: kept %q", dry, all)
		}
	}
}

// What cannot be run, or comes in another form, leaves nothing.
func TestUploadsThatAreRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	h := pushing(dir)
	for _, tt := range []struct {
		name, query, body, mediaType string
		status                       int
		code, detail                 string
	}{
		{"no module", "", "hello", wasmType, 422, codeInvalid, "not a Wasm binary"},
		{"nothing", "", "", wasmType, 422, codeInvalid, "it is not saved"},
		{"JSON", "", "{}", jsonType, 415, codeMediaType, wasmType},
		{"an odd flag", "?dry_run=yes", "hello", wasmType, 400, codeBadRequest, "one of true, false"},
		{"an unknown parameter", "?force=true", "hello", wasmType, 400, codeBadRequest, "not known"},
		{"an unknown job", "?job=x", "hello", wasmType, 404, codeNotFound, `no namespace`},
		{"a path", "?job=..%2Ftokens", "hello", wasmType, 404, codeNotFound, "no name of a job"},
		{"too many bytes", "", strings.Repeat("a", guest.MaxModule+1), wasmType, 413, codeTooLarge, "bytes"},
	} {
		w := answered(t, h, "POST", modulesPath+tt.query, tt.body, tt.mediaType)
		if p := problemIn(t, w); w.Code != tt.status || p.Code != tt.code || !strings.Contains(p.Detail, tt.detail) {
			t.Errorf("%s: answered %d %s (%s)", tt.name, w.Code, p.Code, p.Detail)
		}
	}
	var d operator.PushReport
	w := answered(t, h, "POST", modulesPath+"?dry_run=true", "hello", wasmType)
	if err := json.Unmarshal(w.Body.Bytes(), &d); err != nil || w.Code != http.StatusOK || d.Runs || d.Problem == "" || d.Saved {
		t.Errorf("%d %s, %v", w.Code, w.Body, err)
	}
	if all := kept(t, dir); len(all) > 0 {
		t.Errorf("kept %q", all)
	}
}

// A server has few modules in memory for their reports; who comes meanwhile is to try again.
func TestUploadsAtOnce(t *testing.T) {
	t.Parallel()
	examined, goOn := make(chan struct{}), make(chan struct{})
	h := NewHandler(Options{Operate: onMemory, Keep: func(io.Reader, string, host.Signing) error { return nil }, Push: &operator.Push{
		Examine: func(context.Context, []byte) (guest.Examination, error) {
			examined <- struct{}{}
			<-goOn
			return guest.Examination{Checked: guest.Checked{Runs: true}}, nil
		},
	}})
	ended := make(chan int, uploadsAtOnce)
	for range uploadsAtOnce {
		go func() { ended <- answered(t, h, "POST", modulesPath, "a", wasmType).Code }()
		<-examined
	}
	if p := problemIn(t, answered(t, h, "POST", modulesPath, "a", wasmType)); p.Code != codeBusy {
		t.Errorf("%+v", p)
	}
	close(goOn)
	for range uploadsAtOnce {
		if code := <-ended; code != http.StatusOK {
			t.Error(code)
		}
	}
}
