package admin

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/operator"
	"github.com/wasmjob/wasmjob/host/registry/embedded"
)

func digestOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// keeping returns a handler that stores modules in a data directory.
func keeping(dir string) *Handler {
	return NewHandler(Options{Operate: onMemory, Receive: func(r io.Reader) (*host.ReceivedModule, error) { return host.ReceiveModule(dir, r, nil) }})
}

func TestModulesAreKeptByTheirDigest(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	h := keeping(dir)
	at := modulesPath + "/" + digestOf("hello")
	for _, tt := range []struct {
		name, path, body, mediaType string
		status                      int
		code                        string
	}{
		{"other bytes", at, "hallo", wasmType, 422, "invalid"},
		{"no digest", modulesPath + "/x", "hello", wasmType, 422, "invalid"},
		{"a path", modulesPath + "/..%2F..%2Fregistry", "hello", wasmType, 422, "invalid"},
		{"JSON", at, "hello", jsonType, 415, codeMediaType},
		{"no type", at, "hello", "", 415, codeMediaType},
	} {
		w := answered(t, h, "PUT", tt.path, tt.body, tt.mediaType)
		if p := problemIn(t, w); w.Code != tt.status || p.Code != tt.code {
			t.Errorf("%s: answered %d %s (%s), want %d %s", tt.name, w.Code, p.Code, p.Detail, tt.status, tt.code)
		}
	}
	for range 2 { // a second upload changes nothing
		if w := answered(t, h, "PUT", at, "hello", wasmType); w.Code != http.StatusNoContent {
			t.Fatalf("answered %d: %s", w.Code, w.Body)
		}
	}
	kept, err := filepath.Glob(filepath.Join(dir, "*", "*"))
	if err != nil || len(kept) != 1 {
		t.Errorf("kept: %q, %v", kept, err)
	}
	if text, err := os.ReadFile(kept[0]); err != nil || string(text) != "hello" {
		t.Errorf("kept: %q, %v", text, err)
	}
}

// A change is in the audit even if the client has gone away meanwhile, or an upload took longer
// than other requests may.
func TestWhatIsDoneIsInTheAudit(t *testing.T) {
	t.Parallel()
	r, dir := embedded.Memory(), t.TempDir()
	operate := func(ctx context.Context) (*operator.Operator, error) { return operator.Open(ctx, r, "wasmjobd") }
	var leave func()
	h := NewHandler(Options{
		Operate: operate,
		Receive: func(r io.Reader) (*host.ReceivedModule, error) {
			defer leave()
			return host.ReceiveModule(dir, r, nil)
		},
		Reload: func(context.Context, bool) (Reloaded, error) {
			leave()
			return Reloaded{}, nil
		},
	})
	for _, one := range []*http.Request{
		httptest.NewRequestWithContext(t.Context(), http.MethodPut, modulesPath+"/"+digestOf("hello"), strings.NewReader("hello")),
		httptest.NewRequestWithContext(t.Context(), http.MethodPost, reloadPath, nil),
	} {
		ctx, cancel := context.WithCancel(t.Context())
		leave = cancel
		if one.Method == http.MethodPut {
			one.Header.Set("Content-Type", wasmType)
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, one.WithContext(ctx))
		if w.Code >= http.StatusMultipleChoices || ctx.Err() == nil {
			t.Errorf("%s is answered %d %s", one.URL, w.Code, w.Body)
		}
		cancel()
	}
	op, err := operate(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	rows, err := op.Audit(t.Context(), operator.AuditFilter{})
	if err := errors.Join(err, op.Close()); err != nil || len(rows) != 2 || rows[0].Verb != "reload" || rows[1].Verb != "module upload" {
		t.Errorf("%+v, %v", rows, err)
	}
}

// An interrupted upload leaves nothing on the disk.
func TestModuleThatStops(t *testing.T) {
	t.Parallel()
	for _, at := range []string{"PUT " + modulesPath + "/" + digestOf("hello"), "POST " + modulesPath} {
		for _, cut := range []bool{true, false} {
			dir := t.TempDir()
			synctest.Test(t, func(t *testing.T) {
				p := newPipes()
				ctx, cancel := context.WithCancel(context.Background())
				ended := make(chan error, 1)
				go func() { ended <- Serve(ctx, p, pushing(dir)) }()
				c, begun := p.call(), time.Now()
				if _, err := io.WriteString(c, at+" HTTP/1.1\r\nHost: x\r\nContent-Type: application/wasm\r\nContent-Length: 5\r\n\r\nhell"); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				if half := kept(t, dir); len(half) != 1 || strings.HasSuffix(half[0], ".wasm") {
					t.Errorf("%s: on the disk are %q", at, half)
				}
				if cut {
					if err := c.Close(); err != nil {
						t.Error(err)
					}
				} else {
					text, err := io.ReadAll(c)
					if took := time.Since(begun); err != nil || took != uploadTimeout || !bytes.Contains(text, []byte(`"code":"timeout"`)) {
						t.Errorf("%s: after %s: %s, %v", at, took, text, err)
					}
				}
				cancel()
				if err := <-ended; err != nil {
					t.Error(err)
				}
			})
			if all := kept(t, dir); len(all) > 0 {
				t.Errorf("%s: kept %q", at, all)
			}
		}
	}
}

// A job that runs a Go function has no module to change.
func TestModulesOfAJobWithoutOne(t *testing.T) {
	t.Parallel()
	s := start(t, "report")
	ctx, digest := t.Context(), digestOf("hello")
	wantCode(t, "next", s.client.NextModule(ctx, "report", operator.ModuleRef{Digest: digest}), host.Refused, "it runs no module")
	wantCode(t, "no digest", s.client.NextModule(ctx, "report", operator.ModuleRef{Digest: "x"}), host.Invalid, "set the module of job report")
	_, _, err := s.client.RollBack(ctx, "report", "")
	wantCode(t, "back", err, host.Refused, "it runs no module")
	wantCode(t, "withdraw", s.client.WithdrawModule(ctx, "report", digest), host.Refused, "it runs no module")
	wantCode(t, "await", s.client.AwaitModule(ctx, "report", digest, nil), host.Refused, "another module was named meanwhile")
	gone, cancel := context.WithCancel(ctx)
	cancel()
	err = s.client.AwaitModule(gone, "report", digest, nil)
	if wantCode(t, "await no longer", err, host.Unavailable, "not every server has it"); !errors.Is(err, context.Canceled) {
		t.Errorf("its cause is %v", err)
	}
	if err := s.client.KeepModule(ctx, []byte("hello"), nil, digest); err == nil || !strings.Contains(err.Error(), "there is nothing at") {
		t.Errorf("kept: %v", err)
	}
}
