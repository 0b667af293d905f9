package admin

import (
	"bytes"
	"context"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/operator"
)

// What is wrong with a job is found through the server as it is on its registry, by
// the options of who asks.
func TestCheckupsThroughTheServer(t *testing.T) {
	t.Parallel()
	s := start(t, "report", "mail")
	<-s.host.Ready()
	direct, err := s.operate(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	through, err := s.client.Operate(t.Context(), "wasmjobd")
	if err != nil {
		t.Fatal(err)
	}
	as := host.Options{Jobs: []job.Config{{Name: "report", Shards: 1}, {Name: "new", Shards: 1}}}
	checkups := func(o *operator.Operator) []operator.Checkup {
		all, err := o.Checkups(t.Context(), as)
		if err != nil || len(all) != 3 {
			t.Fatalf("%+v: %v", all, err)
		}
		return all
	}
	want, got := checkups(direct), checkups(through)
	for after := checkups(direct); !cmp.Equal(want, after); after = checkups(direct) { // it changed meanwhile
		want, got = after, checkups(through)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("through the server it finds otherwise:\n%s", diff)
	}
	if err := direct.Close(); err != nil {
		t.Error(err)
	}
	s.stop()
	_, err = through.Checkups(context.WithoutCancel(t.Context()), as)
	wantCode(t, "without a server", err, host.Unavailable, "")
	if err := through.Close(); err != nil {
		t.Error(err)
	}
}

func TestNodesAreForTheSocketAlone(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		nodes  bool
		query  string
		status int
		want   string
	}{
		{true, "?path=/", http.StatusOK, `"exists":true`},
		{true, "?path=/not/there", http.StatusOK, `"exists":false`},
		{true, "", http.StatusBadRequest, `"parameter":"path"`},
		{true, "?path=jobs", http.StatusBadRequest, `"parameter":"path"`},
		{true, "?path=/a/../b", http.StatusBadRequest, `"parameter":"path"`},
		{true, "?path=/&path=/", http.StatusBadRequest, `\"path\" comes twice`},
		{true, "?paths=/", http.StatusBadRequest, `"parameter":"paths","message":"\"paths\" is not known; known are path"`},
		{true, "?path=%zz", http.StatusBadRequest, `the query cannot be read`},
		{false, "?path=/", http.StatusNotFound, codeNoRoute},
	} {
		w := answered(t, NewHandler(Options{Operate: onMemory, Nodes: tt.nodes}), http.MethodGet, nodesPath+tt.query, "", "")
		if w.Code != tt.status || !bytes.Contains(w.Body.Bytes(), []byte(tt.want)) {
			t.Errorf("%t %s: %d %s, want %d %s", tt.nodes, tt.query, w.Code, w.Body, tt.status, tt.want)
		}
	}
}
