package admin

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"testing"

	"github.com/wasmjob/wasmjob/host"
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
