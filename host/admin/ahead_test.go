package admin

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/iotest"

	"github.com/wasmjob/wasmjob/host/operator"
)

// Interrupted bodies have a rate of their own, and probes from their address are answered.
func TestBrokenBodiesKeepNoProbeOut(t *testing.T) {
	t.Parallel()
	h := NewHandler(Options{Authenticate: func(context.Context, string) (operator.Caller, error) { return operator.Caller{}, nil }})
	a := aheadHandler{h, h}
	ask := func(body io.Reader) int {
		w := httptest.NewRecorder()
		a.ServeHTTP(w, httptest.NewRequest(http.MethodGet, healthPath, body))
		return w.Code
	}
	broken := iotest.ErrReader(errors.New("cut"))
	if got := ask(broken); got != http.StatusBadRequest {
		t.Errorf("a broken body is answered %d", got)
	}
	got := 0
	for range callerBurst {
		got = ask(broken)
	}
	if got != http.StatusTooManyRequests {
		t.Errorf("after many, a broken body is answered %d", got)
	}
	if got := ask(http.NoBody); got != http.StatusOK {
		t.Errorf("a probe is answered %d", got)
	}
}
