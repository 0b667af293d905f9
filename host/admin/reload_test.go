package admin

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/operator"
)

// A reload reports each fault of the files separately.
func TestReload(t *testing.T) {
	t.Parallel()
	two := errors.Join(errors.New("one"), errors.New("two"))
	for _, tt := range []struct {
		name   string
		reload Reload
		status int
		want   string
	}{
		{"nobody can", nil, http.StatusNotFound, codeNoRoute},
		{"done", func(context.Context, bool) (Reloaded, error) {
			return Reloaded{Reloaded: host.Reloaded{Added: []string{"a"}, Kept: 2}}, nil
		}, http.StatusOK, `{"version":1,"added":["a"],"changed":[],"removed":[],"unchanged":2,"need_restart":[]}`},
		{"wrong", func(context.Context, bool) (Reloaded, error) {
			return Reloaded{}, &host.Error{Code: host.Invalid, Msg: "not reloaded", Err: two}
		}, http.StatusUnprocessableEntity, `"detail":"not reloaded","code":"invalid","errors":[{"pointer":"","message":"one"},{"pointer":"","message":"two"}]`},
		{"too late", func(context.Context, bool) (Reloaded, error) {
			return Reloaded{}, &host.Error{Code: host.Unavailable, Msg: "it ends", Err: context.Canceled}
		}, http.StatusServiceUnavailable, `"detail":"it ends: context canceled","code":"unavailable"`},
	} {
		w := answered(t, NewHandler(Options{Operate: onMemory, Reload: tt.reload}), http.MethodPost, reloadPath, "", "")
		if w.Code != tt.status || !bytes.Contains(w.Body.Bytes(), []byte(tt.want)) {
			t.Errorf("%s: %d %s, want %d %s", tt.name, w.Code, w.Body, tt.status, tt.want)
		}
	}
}

// A reload whose caller leaves before its result goes on, and has a row in the audit. One that was refused, or only
// tried, has none.
func TestReloadWithoutAResultIsInTheAudit(t *testing.T) {
	t.Parallel()
	s := start(t, "report")
	var code host.Code
	var leave context.CancelFunc
	h := NewHandler(Options{Operate: s.operate, Reload: func(context.Context, bool) (Reloaded, error) {
		leave()
		return Reloaded{}, &host.Error{Code: code, Msg: "no result", Err: context.Canceled}
	}})
	for _, c := range []struct {
		code  host.Code
		query string
	}{{host.Unavailable, ""}, {host.Invalid, ""}, {host.Unknown, "?dry_run=true"}, {host.Unknown, ""}} {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		code, leave = c.code, cancel
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequestWithContext(ctx, http.MethodPost, reloadPath+c.query, nil))
		if w.Code != statuses[c.code] {
			t.Errorf("%s is answered %d %s", c.code, w.Code, w.Body)
		}
	}
	op, err := s.operate(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	audit, err := op.Audit(t.Context(), operator.AuditFilter{})
	if err != nil || len(audit) != 1 || audit[0].Verb != "reload" || audit[0].Detail != "result unknown" {
		t.Errorf("%+v, %v", audit, err)
	}
	if err := op.Close(); err != nil {
		t.Error(err)
	}
}
