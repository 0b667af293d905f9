package admin

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/guest"
	"github.com/wasmjob/wasmjob/host/operator"
)

func pushing(dir string) *Handler {
	return NewHandler(Options{
		Operate: onMemory, Push: &operator.Push{Examine: examined, Given: func(key string) bool { return key == "clock" }},
		Receive: func(r io.Reader) (*host.ReceivedModule, error) { return host.ReceiveModule(dir, r, nil) },
	})
}

// examined examines in this process.
func examined(ctx context.Context, r io.Reader) (guest.Examination, error) {
	wasm, err := io.ReadAll(r)
	if err != nil {
		return guest.Examination{}, err
	}
	return guest.Examine(ctx, wasm)
}

func kept(t *testing.T, dir string) []string {
	t.Helper()
	all, err := filepath.Glob(filepath.Join(dir, "*", "*"))
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// An upload returns a report and saves the module; a dry run does not save it.
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

// unknown is a body of n bytes whose length is not announced.
func unknown(n int64) io.Reader { return io.LimitReader(zeros{}, n) }

type zeros struct{}

func (zeros) Read(b []byte) (int, error) {
	clear(b)
	return len(b), nil
}

// An uploaded module is never in the server's memory. The test counts allocations, so nothing
// may run beside it.
func TestUploadIsNotHeldInMemory(t *testing.T) { //nolint:paralleltest // it counts what the process allocates
	const size, most = 32 << 20, 2 << 20
	sum := sha256.New()
	if _, err := io.Copy(sum, unknown(size)); err != nil {
		t.Fatal(err)
	}
	digest, dir := hex.EncodeToString(sum.Sum(nil)), t.TempDir()
	h := pushing(dir)
	h.o.Push.Examine = func(_ context.Context, r io.Reader) (guest.Examination, error) {
		n, err := io.Copy(io.Discard, r)
		if n != size {
			t.Errorf("%d bytes are examined", n)
		}
		return guest.Examination{Checked: guest.Checked{Report: guest.Report{Digest: digest}, Runs: true}}, err
	}
	for _, at := range []struct{ method, path string }{
		{http.MethodPost, modulesPath}, {http.MethodPut, modulesPath + "/" + digest}, // the second finds it
	} {
		r := httptest.NewRequestWithContext(t.Context(), at.method, at.path, unknown(size))
		r.Header.Set("Content-Type", wasmType)
		w := httptest.NewRecorder()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		h.ServeHTTP(w, r)
		runtime.ReadMemStats(&after)
		if w.Code >= http.StatusMultipleChoices {
			t.Fatalf("%s is answered %d %s", at.method, w.Code, w.Body)
		}
		if took := after.TotalAlloc - before.TotalAlloc; took > most {
			t.Errorf("%s of %d bytes allocates %d", at.method, size, took)
		}
	}
	if all := kept(t, dir); len(all) != 1 || filepath.Base(all[0]) != digest+".wasm" {
		t.Errorf("kept %q", all)
	}
}

// An upload that cannot run, or has another form, leaves nothing.
func TestUploadsThatAreRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	h := pushing(dir)
	for _, r := range []*http.Request{
		httptest.NewRequestWithContext(t.Context(), http.MethodPost, modulesPath, unknown(guest.MaxModule+1)),
		httptest.NewRequestWithContext(t.Context(), http.MethodPut, modulesPath+"/"+digestOf("a"), unknown(guest.MaxModule+1)),
	} {
		r.Header.Set("Content-Type", wasmType)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if p := problemIn(t, w); w.Code != http.StatusRequestEntityTooLarge || p.Code != codeTooLarge {
			t.Errorf("%s of unknown length: answered %d %s (%s)", r.Method, w.Code, p.Code, p.Detail)
		}
	}
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
		{"a path", "?job=..%2Ftokens", "hello", wasmType, 404, codeNotFound, "cannot be the name of a job"},
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

// A server that reads only the beginning of a module, as on a full disk, says why to a client that
// still sends the rest.
func TestUploadThatIsNotReadToItsEnd(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(NewHandler(Options{
		Operate: onMemory, Push: &operator.Push{},
		Receive: func(r io.Reader) (*host.ReceivedModule, error) {
			if _, err := io.ReadFull(r, make([]byte, 1<<10)); err != nil {
				return nil, err
			}
			return nil, &host.Error{Code: host.Unavailable, Msg: "the disk is full"}
		},
	}))
	defer server.Close()
	c, err := At(server.URL, "token", ClientTLS{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	wasm := make([]byte, 32<<20)
	if _, err := c.PushModule(t.Context(), bytes.NewReader(wasm), operator.Push{}); err == nil || !strings.Contains(err.Error(), "the disk is full") {
		t.Errorf("a push ends with %v", err)
	}
	if err := c.KeepModule(t.Context(), wasm, nil, digestOf("a")); err == nil || !strings.Contains(err.Error(), "the disk is full") {
		t.Errorf("an upload ends with %v", err)
	}
}

// A server takes few uploads at a time; the answer to others is to try again.
func TestUploadsAtOnce(t *testing.T) {
	t.Parallel()
	examined, goOn := make(chan struct{}), make(chan struct{})
	h := pushing(t.TempDir())
	h.o.Push.Examine = func(context.Context, io.Reader) (guest.Examination, error) {
		examined <- struct{}{}
		<-goOn
		return guest.Examination{Checked: guest.Checked{Report: guest.Report{Digest: digestOf("a")}, Runs: true}}, nil
	}
	ended := make(chan int, uploadsAtOnce)
	for range uploadsAtOnce {
		go func() { ended <- answered(t, h, "POST", modulesPath, "a", wasmType).Code }()
		<-examined
	}
	put := modulesPath + "/" + digestOf("a")
	for method, path := range map[string]string{http.MethodPost: modulesPath, http.MethodPut: put} {
		if p := problemIn(t, answered(t, h, method, path, "a", wasmType)); p.Code != codeBusy {
			t.Errorf("%s: %+v", method, p)
		}
	}
	close(goOn)
	for range uploadsAtOnce {
		if code := <-ended; code != http.StatusOK {
			t.Error(code)
		}
	}
	if w := answered(t, h, http.MethodPut, put, "a", wasmType); w.Code != http.StatusNoContent {
		t.Errorf("afterwards: %d %s", w.Code, w.Body)
	}
}
