package admin

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/operator"
	"github.com/wasmjob/wasmjob/internal/signaturetest"
)

// signing is a handler that stores modules in a data directory; with strict, only those that ann has signed.
func signing(dir string, strict bool) *Handler {
	var keys []string
	if strict {
		keys = []string{signaturetest.New("ann").Public}
	}
	return NewHandler(Options{
		Operate: onMemory, ModuleKeys: keys, Push: &operator.Push{Examine: examined},
		Receive: func(r io.Reader) (*host.ReceivedModule, error) { return host.ReceiveModule(dir, r, keys) },
		Admit:   func(digest string, s host.Signing) error { return host.AdmitModule(dir, digest, s) },
	})
}

// signedPut uploads a module with the text of a signature.
func signedPut(t *testing.T, h *Handler, wasm, sign []byte) int {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPut, modulesPath+"/"+digestOf(string(wasm)), bytes.NewReader(wasm))
	r.Header.Set("Content-Type", wasmType)
	if len(sign) > 0 {
		r.Header.Set(signatureHeader, base64.StdEncoding.EncodeToString(sign))
	}
	return answerTo(t, h, r).Code
}

// An upload that its signature excludes is refused before any of its bytes arrive.
func TestUploadIsRefusedBeforeItsBytes(t *testing.T) {
	t.Parallel()
	dir, ann, bob, wasm := t.TempDir(), signaturetest.New("ann"), signaturetest.New("bob"), []byte("code")
	if code := signedPut(t, signing(dir, false), wasm, ann.Sign(wasm)); code != http.StatusNoContent {
		t.Fatal(code)
	}
	put := "PUT " + modulesPath + "/" + digestOf("code")
	for _, tt := range []struct {
		what, request string
		strict        bool
		sign          []byte
		status        string
	}{
		{"no signature", "POST " + modulesPath, true, nil, "422"},
		{"an unknown key", "POST " + modulesPath, true, bob.Sign(wasm), "422"},
		{"no signature of new bytes", "PUT " + modulesPath + "/" + digestOf("new"), true, nil, "422"},
		{"an unknown key of known bytes", put, true, bob.Sign(wasm), "422"},
		{"another signature", put, false, bob.Sign(wasm), "409"},
		{"no signature at all", put, false, []byte("x"), "422"},
	} {
		synctest.Test(t, func(t *testing.T) {
			p, stop := served(t, signing(dir, tt.strict))
			c := p.call()
			head := "Wasmjobd-Other: x"
			if tt.sign != nil {
				head = signatureHeader + ": " + base64.StdEncoding.EncodeToString(tt.sign)
			}
			if _, err := fmt.Fprintf(c, "%s HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: %s\r\nContent-Length: 1000000\r\n%s\r\n\r\n", tt.request, wasmType, head); err != nil {
				t.Fatal(err)
			}
			begin := make([]byte, len("HTTP/1.1 422"))
			if _, err := io.ReadFull(c, begin); err != nil || string(begin) != "HTTP/1.1 "+tt.status {
				t.Errorf("%s: %q, %v", tt.what, begin, err)
			}
			_ = c.Close()
			stop()
		})
	}
}

// A stored module needs no signature again, and keeps its signature.
func TestUploadKeepsTheStoredSignature(t *testing.T) {
	t.Parallel()
	dir, ann, wasm := t.TempDir(), signaturetest.New("ann"), []byte("code")
	free, strict := signing(dir, false), signing(dir, true)
	for i, step := range []struct {
		to   *Handler
		sign []byte
		want int
	}{
		{free, ann.Sign(wasm), 204}, {free, signaturetest.New("bob").Sign(wasm), 409}, {strict, nil, 204}, {strict, ann.Sign(bytes.ToUpper(wasm)), 422},
	} {
		if code := signedPut(t, step.to, wasm, step.sign); code != step.want {
			t.Errorf("upload %d is answered %d, want %d", i, code, step.want)
		}
	}
}

// notSent is a module that must not be sent.
type notSent struct{ t *testing.T }

func (notSent) Size() int64 { return 1 << 20 }
func (u notSent) ReadAt(b []byte, _ int64) (int, error) {
	u.t.Error("its bytes are sent")
	return len(b), nil
}

// The client does not send a module if its headers are refused.
func TestClientSendsNothingThatIsRefused(t *testing.T) {
	t.Parallel()
	h := signing(t.TempDir(), true)
	h.o.Authenticate = known
	c := at(t, "http://"+serveTCP(t, TLS{}, h), "publisher")
	_, err := c.PushModule(t.Context(), notSent{t}, operator.Push{})
	wantCode(t, "without a signature", err, host.Invalid, "it has no signature")
}
