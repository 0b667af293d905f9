package admin

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/operator"
	"github.com/wasmjob/wasmjob/host/registry"
)

// Checkups through the server find the same as checkups on its registry, with the options
// of the client.
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

// requests is a reader that counts its requests to the server.
type requests struct {
	*reader
	n atomic.Int64
}

func (r *requests) Open(context.Context, func(registry.Event)) (registry.Session, error) {
	return r, nil
}

func (r *requests) Read(ctx context.Context, path string) (registry.Node, error) {
	r.n.Add(1)
	return r.reader.Read(ctx, path)
}

func (r *requests) ReadMany(ctx context.Context, paths []string) ([]registry.Node, error) {
	r.n.Add(1)
	return r.reader.ReadMany(ctx, paths)
}

// A checkup reads some forty nodes of a job in two requests: first the nodes with known
// names, then those that the first ones name.
func TestCheckupsTakeTwoRequestsAJob(t *testing.T) {
	t.Parallel()
	var names []string
	for i := range 20 {
		names = append(names, fmt.Sprintf("job%d", i))
	}
	s := start(t, names...)
	session, err := readOnlyRegistry{s.client}.Open(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	counted := &requests{reader: session.(*reader)}
	o, err := operator.Open(t.Context(), counted, "wasmjobd")
	if err != nil {
		t.Fatal(err)
	}
	// Jobs that have just started still elect and assign, and changed nodes are read again.
	least := int64(math.MaxInt64)
	for tries := 0; least > int64(2*len(names)+1) && tries < 100; tries++ {
		before := counted.n.Load()
		all, err := o.Checkups(t.Context(), host.Options{})
		if err != nil || len(all) != len(names) {
			t.Fatalf("%d jobs: %v", len(all), err)
		}
		least = min(least, counted.n.Load()-before)
	}
	if least > int64(2*len(names)+1) {
		t.Errorf("%d requests at least for %d jobs and their list", least, len(names))
	}
	if err := o.Close(); err != nil {
		t.Error(err)
	}
}

// Requests and answers stay within the limits of both sides. Nodes that do not fit are
// requested again.
func TestManyNodesComeInParts(t *testing.T) {
	t.Parallel()
	s := start(t)
	direct, err := s.registry.Open(t.Context(), func(registry.Event) {})
	if err != nil {
		t.Fatal(err)
	}
	var paths []string
	for i := range 12 {
		at := fmt.Sprintf("/large%d", i)
		op := registry.Op{Kind: registry.Create, Path: at, Data: bytes.Repeat([]byte{byte(i)}, 900_000)}
		if _, err := direct.Commit(t.Context(), op); err != nil {
			t.Fatal(err)
		}
		paths = append(paths, at)
	}
	answer := answered(t, NewHandler(Options{Operate: s.operate, Nodes: true}), http.MethodGet, nodesPath+"?"+queryOf(paths), "", "")
	if n := bytes.Count(answer.Body.Bytes(), []byte(`"path":`)); n != 5 {
		t.Errorf("%d nodes of 900 kB in an answer", n)
	}
	for i := range 100 {
		paths = append(paths, fmt.Sprintf("/%d/%s", i, strings.Repeat("ü&", 100)))
	}
	session, err := readOnlyRegistry{s.client}.Open(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	got, err := session.(operator.ManyReader).ReadMany(t.Context(), paths)
	if err != nil || len(got) != len(paths) {
		t.Fatalf("%d of %d nodes: %v", len(got), len(paths), err)
	}
	for i, at := range paths {
		want, err := direct.Read(t.Context(), at)
		if err != nil || !bytes.Equal(want.Data, got[i].Data) {
			t.Errorf("%s: another value, %v", at, err)
		}
		want.Data, got[i].Data = nil, nil
		if diff := cmp.Diff(want, got[i]); diff != "" {
			t.Errorf("%s:\n%s", at, diff)
		}
	}
	if err := direct.Close(); err != nil {
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
		{true, "?path=/not/there&path=/", http.StatusOK, `{"version":1,"nodes":[{"path":"/not/there","exists":false`},
		{true, "?path=/&path=jobs", http.StatusBadRequest, `"parameter":"path"`},
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
