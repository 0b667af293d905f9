package admin

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/guest"
	"github.com/wasmjob/wasmjob/host/operator"
	"github.com/wasmjob/wasmjob/internal/signaturetest"
)

// uploadSigned sends a module with the value of the header of its signature; nil: without.
func uploadSigned(t *testing.T, h *Handler, method, path string, wasm []byte, value []string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, "http://localhost"+path, strings.NewReader(string(wasm)))
	r.Header.Set("Content-Type", wasmType)
	if value != nil {
		r.Header[signatureHeader] = value
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// If keys are configured, an upload without a signature by one of them is neither run nor saved.
// The report shows how a module is signed.
func TestUploadsAreSigned(t *testing.T) {
	t.Parallel()
	ann, bob := signaturetest.New("ann"), signaturetest.New("bob")
	wasm, err := os.ReadFile("../../abi/conformance/wat/ok.wasm")
	if err != nil {
		t.Fatal(err)
	}
	header := func(text []byte) []string { return []string{base64.StdEncoding.EncodeToString(text)} }
	good := header(ann.Sign(wasm))
	for _, tt := range []struct {
		name   string
		keys   []string
		value  []string
		status int
		says   string // the state, or what is wrong
	}{
		{"no keys, no signature", nil, nil, 200, "none"},
		{"no keys", nil, good, 200, "unchecked"},
		{"signed", []string{bob.Public, ann.Public}, good, 200, "valid"},
		{"no signature", []string{ann.Public}, nil, 422, "it has no signature"},
		{"by another key", []string{bob.Public}, good, 422, "not accepted"},
		{"of other bytes", []string{ann.Public}, header(ann.Sign([]byte("other"))), 422, "of other bytes"},
		{"no text of minisign", nil, header([]byte("x")), 422, "not a signature of minisign"},
		{"no Base64", nil, []string{"?"}, 400, "Base64"},
		{"empty", nil, []string{""}, 400, "Base64"},
		{"twice", []string{ann.Public}, append(good, header(bob.Sign(wasm))...), 400, "sent once"},
		{"huge", nil, []string{strings.Repeat("x", 4000)}, 400, "at most 2048 bytes"},
	} {
		for _, dry := range []string{"?dry_run=true", ""} {
			dir, ran := t.TempDir(), false
			h := NewHandler(Options{
				Operate: onMemory, ModuleKeys: tt.keys, Push: &operator.Push{Examine: func(ctx context.Context, _ io.Reader) (guest.Examination, error) {
					ran = true
					return guest.Examine(ctx, wasm)
				}},
				Receive: func(r io.Reader) (*host.ReceivedModule, error) { return host.ReceiveModule(dir, r, tt.keys) },
			})
			w := uploadSigned(t, h, "POST", modulesPath+dry, wasm, tt.value)
			if w.Code != tt.status || !strings.Contains(w.Body.String(), tt.says) || ran != (tt.status == 200) {
				t.Errorf("%s%s: ran %v, answered %d %s", tt.name, dry, ran, w.Code, w.Body)
			}
			saved := 0
			if tt.status == 200 && dry == "" {
				var d operator.PushReport
				if err := json.Unmarshal(w.Body.Bytes(), &d); err != nil || d.Signature.State != tt.says || (d.Signature.Comment == "signed for tests") != (tt.value != nil) {
					t.Errorf("%s: %+v, %v", tt.name, d.Signature, err)
				}
				if saved = 1; tt.value != nil {
					saved = 2
				}
			}
			if all := kept(t, dir); len(all) != saved {
				t.Errorf("%s%s: kept %q", tt.name, dry, all)
			}
			put := uploadSigned(t, h, "PUT", modulesPath+"/"+digestOf(string(wasm))+dry, wasm, tt.value)
			if ok := put.Code == http.StatusNoContent || dry != "" && put.Code == http.StatusOK; ok != (tt.status == 200) || !ok && put.Code != tt.status {
				t.Errorf("%s%s: set is answered %d %s", tt.name, dry, put.Code, put.Body)
			}
		}
	}
}
