package operator

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/wasmjob/wasmjob/host/guest"
	"github.com/wasmjob/wasmjob/host/internal/layout"
	"github.com/wasmjob/wasmjob/host/internal/layout/spelling"
	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/registry"
	"github.com/wasmjob/wasmjob/host/registry/embedded"
)

// keptHere pushes a module that the server that was asked keeps. Between the examination and
// the upload it calls examined with the end of the request's context.
func keptHere(t *testing.T, op *Operator, examined func(end context.CancelFunc)) PushReport {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r, err := op.PushModule(ctx, bytes.NewReader([]byte("bytes")), Push{
		Token: "token", Keep: func(string, []byte) error { return nil },
		Examine: func(context.Context, io.Reader) (guest.Examination, error) {
			examined(cancel)
			return guest.Examination{Checked: guest.Checked{Report: guest.Report{Digest: digestA}, Runs: true}}, nil
		},
	})
	if err != nil || !r.Saved || r.Held != 1 {
		t.Errorf("%+v, %v", r, err)
	}
	return r
}

// A push reports the servers beyond those to which it uploads.
func TestPushReportsServersThatItDoesNotAsk(t *testing.T) {
	t.Parallel()
	op := operating(t, embedded.Memory())
	_, _, members := layout.NewJob("jobs", "many").Nodes()
	for _, path := range []string{"/jobs", "/jobs/many", "/jobs/many/wasm", members} {
		put(t, op, registry.Create, path, "")
	}
	for i := range maxCopies + 2 {
		address := fmt.Sprintf("127.0.0.1:%d", i+1) // nothing listens there
		put(t, op, registry.Create, fmt.Sprintf("%s/10.0.0.%d@-@1", members, i), spelling.EncodeMember(protocol.Join{Address: address}, protocol.Ready{}))
	}
	r := keptHere(t, op, func(context.CancelFunc) {})
	notAsked := 0
	for _, c := range r.Other {
		if c.Fault == "" {
			t.Errorf("%s has the module", c.Address)
		}
		if strings.HasPrefix(c.Fault, "not asked") {
			notAsked++
		}
	}
	if len(r.Other) != maxCopies+2 || notAsked != 2 {
		t.Errorf("%d servers, %d of them not asked", len(r.Other), notAsked)
	}
}

// A push reports the servers that take no modules, and without a peer token all others.
func TestPushReportsServersThatItCannotAsk(t *testing.T) {
	t.Parallel()
	op := operating(t, embedded.Memory())
	_, _, members := layout.NewJob("jobs", "one").Nodes()
	for _, path := range []string{"/jobs", "/jobs/one", "/jobs/one/wasm", members} {
		put(t, op, registry.Create, path, "")
	}
	for id, address := range map[string]string{"10.0.0.1@-@1": "10.0.0.1:1", "10.0.0.2@-@1": "", "10.0.0.3@-@1-1": "10.0.0.3:1"} {
		put(t, op, registry.Create, members+"/"+id, spelling.EncodeMember(protocol.Join{Address: address}, protocol.Ready{}))
	}
	r, err := op.PushModule(t.Context(), bytes.NewReader([]byte("bytes")), Push{
		Keep: func(string, []byte) error { return nil }, Self: "10.0.0.3@-@1",
		Examine: func(context.Context, io.Reader) (guest.Examination, error) {
			return guest.Examination{Checked: guest.Checked{Report: guest.Report{Digest: digestA}, Runs: true}}, nil
		},
	})
	want := []ModuleCopy{
		{Address: "10.0.0.1:1", Fault: "not asked, as peer_token is not set here"},
		{Address: "10.0.0.2", Fault: "it takes no modules; set peer_listen there"},
	}
	if err != nil || r.Held != 1 || !slices.Equal(r.Other, want) {
		t.Errorf("%+v, %v", r, err)
	}
}

// A push that cannot look for other servers says so, although one server has the module.
func TestPushReportsThatItFoundNoServers(t *testing.T) {
	t.Parallel()
	op := operating(t, embedded.Memory())
	if r := keptHere(t, op, func(context.CancelFunc) {}); len(r.Unread) > 0 {
		t.Errorf("with a registry: %q", r.Unread)
	}
	if r := keptHere(t, op, func(end context.CancelFunc) { end() }); len(r.Unread) != 1 || len(r.Other) > 0 {
		t.Errorf("without an answer of the registry: %+v", r)
	}
}
