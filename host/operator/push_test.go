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

// keptHere pushes a module that the server that was asked keeps, as p says. Between the
// examination and the upload it calls examined with the end of the request's context.
func keptHere(t *testing.T, op *Operator, p Push, examined func(end context.CancelFunc)) PushReport {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	p.Keep = func(string, []byte) error { return nil }
	p.Examine = func(context.Context, io.Reader) (guest.Examination, error) {
		examined(cancel)
		return guest.Examination{Checked: guest.Checked{Report: guest.Report{Digest: digestA}, Runs: true}}, nil
	}
	r, err := op.PushModule(ctx, bytes.NewReader([]byte("bytes")), p)
	if err != nil || !r.Saved || r.Held != 1 {
		t.Errorf("%+v, %v", r, err)
	}
	return r
}

// putMembers writes the nodes of members, each with the address at which it takes modules.
func putMembers(t *testing.T, op *Operator, addresses map[string]string) {
	t.Helper()
	_, _, members := layout.NewJob("jobs", "many").Nodes()
	for _, path := range []string{"/jobs", "/jobs/many", "/jobs/many/wasm", members} {
		put(t, op, registry.Create, path, "")
	}
	for id, address := range addresses {
		put(t, op, registry.Create, members+"/"+id, spelling.EncodeMember(protocol.Join{Address: address}, protocol.Ready{}))
	}
}

func goOn(context.CancelFunc) {}

// A push reports the servers beyond those to which it uploads.
func TestPushReportsServersThatItDoesNotAsk(t *testing.T) {
	t.Parallel()
	op := operating(t, embedded.Memory())
	addresses := map[string]string{}
	for i := range maxCopies + 2 {
		addresses[fmt.Sprintf("10.0.0.%d@-@1", i)] = fmt.Sprintf("127.0.0.1:%d", i+1) // nothing listens there
	}
	putMembers(t, op, addresses)
	r := keptHere(t, op, Push{Token: "token"}, goOn)
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
	putMembers(t, op, map[string]string{"10.0.0.1@-@1": "10.0.0.1:1", "10.0.0.2@-@1": "", "10.0.0.3@-@1-1": "10.0.0.3:1"})
	r := keptHere(t, op, Push{Self: "10.0.0.3@-@1"}, goOn)
	want := []ModuleCopy{
		{Address: "10.0.0.1:1", Fault: "not asked, as peer_token is not set here"},
		{Address: "10.0.0.2", Fault: "it takes no modules; set peer_listen there"},
	}
	if !slices.Equal(r.Other, want) {
		t.Errorf("%+v", r)
	}
}

// A push that cannot look for other servers says so, although one server has the module.
func TestPushReportsThatItFoundNoServers(t *testing.T) {
	t.Parallel()
	op := operating(t, embedded.Memory())
	if r := keptHere(t, op, Push{Token: "token"}, goOn); len(r.Unread) > 0 {
		t.Errorf("with a registry: %q", r.Unread)
	}
	if r := keptHere(t, op, Push{Token: "token"}, func(end context.CancelFunc) { end() }); len(r.Unread) != 1 || len(r.Other) > 0 {
		t.Errorf("without an answer of the registry: %+v", r)
	}
}
