package operator

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/internal/layout"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/registry"
	"github.com/wasmjob/wasmjob/host/registry/embedded"
)

// parted is a session that is disturbed once a removal has deleted the definition: after a number of
// further transactions, all requests fail, or a function is called, which may cancel the request.
type parted struct {
	registry.Session
	fails  error  // nil: nothing fails
	then   func() // nil: nothing
	unsure bool   // the outcome of that transaction stays unknown
	more   int
	gone   bool
	reads  int // failed reads
}

// Read implements registry.Session.
func (s *parted) Read(ctx context.Context, path string) (registry.Node, error) {
	if s.gone && s.more <= 0 && s.fails != nil {
		s.reads++
		return registry.Node{}, s.fails
	}
	if err := ctx.Err(); err != nil {
		return registry.Node{}, err
	}
	return s.Session.Read(ctx, path)
}

// Commit implements registry.Session.
func (s *parted) Commit(ctx context.Context, ops ...registry.Op) (registry.Receipt, error) {
	if s.gone && s.more <= 0 && s.fails != nil {
		return registry.Receipt{}, s.fails
	}
	if err := ctx.Err(); err != nil {
		return registry.Receipt{}, err
	}
	r, err := s.Session.Commit(ctx, ops...)
	switch {
	case err != nil:
	case s.gone:
		s.more--
	case slices.ContainsFunc(ops, func(op registry.Op) bool { return op.Kind == registry.Delete && strings.HasSuffix(op.Path, "/config") }):
		s.gone = true
		if s.then != nil {
			s.then()
		}
		if s.unsure {
			err = registry.ErrUnknown
		}
	}
	return r, err
}

// openRecord is a record with an open run.
const openRecord = `{"v":1,"seq":4,"open":[{"i":[0,0],"t":5000,"cause":"schedule","n":1}]}`

var madeAgain = JobText{Name: "j", Digest: strings.Repeat("0a", 32)}

func simply(text JobText) (job.Config, error) {
	return job.Config{
		Name: text.Name, Kind: job.Simple, Shards: 1, Module: "m", ModuleDigest: text.Digest, Layout: job.Layout21, MaxClockSkew: -1,
		Overlap: job.Skip, OnRegistryLoss: job.CancelOnLoss,
	}, nil
}

// A removal that ends between its parts is finished by the next one, or when the job is created again.
func TestRemovalIsFinished(t *testing.T) {
	t.Parallel()
	reg := embedded.MemoryWith(embedded.Options{MaxCommit: 64 << 10})
	o := operate(t, reg)
	o.Record(&pile{}) // as a removal through a server does
	above, _ := layout.NewJob("jobs", "j").Removal()
	for more := range 5 { // all parts but the last
		putLarge(t, o)
		put(t, o, registry.Create, above, "")
		for _, below := range []string{"/paused", "/runs", "/runs/10.0.0.1@-@a"} {
			put(t, o, registry.Create, above+below, "")
		}
		cut := operate(t, reg)
		cut.session = &parted{Session: cut.session, fails: registry.ErrEnded, more: more}
		if err := cut.Remove(t.Context(), "j", true); !errors.Is(err, registry.ErrEnded) {
			t.Fatalf("%d: %v", more, err)
		}
		if more == 0 { // a removal that has stored the rows of a dead member's run leaves its record
			put(t, o, registry.Set, above+"/runs/10.0.0.1@-@a", openRecord)
		}
		if more%2 == 1 {
			if _, err := o.CreateJob(t.Context(), madeAgain, simply); err != nil {
				t.Fatalf("%d: create: %v", more, err)
			}
			if n, err := o.session.Read(t.Context(), above); err != nil || slices.Contains(n.Children, "paused") || slices.Contains(n.Children, "removal") {
				t.Errorf("%d: the new job has %v of the old one, %v", more, n.Children, err)
			}
		}
		if err := o.Remove(t.Context(), "j", true); err != nil {
			t.Fatalf("%d: remove: %v", more, err)
		}
		if n, err := o.session.Read(t.Context(), "/jobs/j"); err != nil || n.Exists {
			t.Fatalf("%d: left: %d nodes, %v", more, len(n.Children), err)
		}
		wantCode(t, "once more", o.Remove(t.Context(), "j", true), host.NotFound)
		if err := cut.Close(); err != nil {
			t.Error(err)
		}
	}
	if err := errors.Join(o.Close(), reg.Close()); err != nil {
		t.Error(err)
	}
}

// A server whose file has the job finishes a removal, and the job begins as a new one.
func TestRemovalIsFinishedByAServer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reg := embedded.MemoryWith(embedded.Options{MaxCommit: 64 << 10})
		o := operate(t, reg)
		putLarge(t, o)
		above, _ := layout.NewJob("jobs", "j").Removal()
		put(t, o, registry.Create, above, "")
		put(t, o, registry.Create, above+"/paused", "")
		cut := operate(t, reg)
		cut.session = &parted{Session: cut.session, fails: registry.ErrEnded, more: 1}
		if err := cut.Remove(t.Context(), "j", true); !errors.Is(err, registry.ErrEnded) {
			t.Fatal(err)
		}
		h, stop := start(t, host.Options{Registry: reg, Namespace: "jobs", Instance: "10.0.0.1@-@a", Jobs: []job.Config{{Name: "j", Shards: 1}}, Runner: host.Func(fine)})
		<-h.Ready()
		r, err := o.Job(t.Context(), "j")
		if err != nil || r.Paused || len(r.Servers) != 1 {
			t.Errorf("%+v, %v", r, err)
		}
		if n, err := o.session.Read(t.Context(), "/jobs/j/a0"); err != nil || n.Exists {
			t.Errorf("a node of the old job is there: %v, %v", n.Exists, err)
		}
		if err := errors.Join(o.Close(), cut.Close(), stop(), reg.Close()); err != nil {
			t.Error(err)
		}
	})
}

// Nodes without a mark are no rest of a removal: they may be a namespace. A job that is defined again
// is none, either.
func TestOnlyTheRestOfARemovalIsFinished(t *testing.T) {
	t.Parallel()
	o := operate(t, memory(t))
	for _, path := range []string{"/jobs", "/jobs/a", "/jobs/a/wasm", "/jobs/a/wasm/config"} {
		put(t, o, registry.Create, path, "")
	}
	wantCode(t, "a namespace", o.Remove(t.Context(), "a", true), host.NotFound)
	if n, err := o.session.Read(t.Context(), "/jobs/a/wasm/config"); err != nil || !n.Exists {
		t.Errorf("it is gone: %v", err)
	}
	putLarge(t, o)
	put(t, o, registry.Create, "/jobs/j/wasm", "")
	put(t, o, registry.Create, "/jobs/j/wasm/removal", "")
	if found, err := o.finishRemoval(t.Context(), "j"); found || err != nil {
		t.Errorf("a job: %v, %v", found, err)
	}
	member := layout.NewJob("jobs", "b").Instance("10.0.0.1@-@a")
	for _, path := range []string{"/jobs/b", "/jobs/b/wasm", "/jobs/b/wasm/removal", path.Dir(member)} {
		put(t, o, registry.Create, path, "")
	}
	put(t, o, registry.CreateEphemeral, member, "")
	if found, err := o.finishRemoval(t.Context(), "b"); found || err != nil {
		t.Errorf("a member has yet to leave: %v, %v", found, err)
	}
	if r, err := o.Job(t.Context(), "j"); err != nil || r.Config == nil {
		t.Errorf("%+v, %v", r, err)
	}
	if err := o.Close(); err != nil {
		t.Error(err)
	}
}

// A dry run does not finish a removal, and reports that the job can be removed or created.
func TestDryRunLeavesTheRestOfARemoval(t *testing.T) {
	t.Parallel()
	o := operate(t, memory(t))
	for _, path := range []string{"/jobs", "/jobs/j", "/jobs/j/wasm", "/jobs/j/wasm/removal"} {
		put(t, o, registry.Create, path, "")
	}
	o.DryRun()
	if err := o.Remove(t.Context(), "j", true); err != nil || len(o.Deeds()) != 1 {
		t.Errorf("%+v, %v", o.Deeds(), err)
	}
	if _, err := o.CreateJob(t.Context(), madeAgain, simply); err != nil || len(o.Deeds()) != 3 || o.Deeds()[2].Verb != "job create" {
		t.Errorf("%+v, %v", o.Deeds(), err)
	}
	if n, err := o.session.Read(t.Context(), "/jobs/j/wasm/removal"); err != nil || !n.Exists {
		t.Errorf("it is gone: %v", err)
	}
	if err := o.Close(); err != nil {
		t.Error(err)
	}
}

// A removal continues if its first part was applied without an answer.
func TestRemovalWhoseFirstPartHasNoAnswer(t *testing.T) {
	t.Parallel()
	reg := embedded.MemoryWith(embedded.Options{MaxCommit: 64 << 10})
	o, other := operate(t, reg), operate(t, reg)
	putLarge(t, o)
	above, _ := layout.NewJob("jobs", "j").Removal()
	o.session = &parted{Session: o.session, unsure: true, then: func() {
		put(t, other, registry.Create, above+"/runs", "")
		put(t, other, registry.Create, above+"/runs/10.0.0.1@-@a", openRecord)
	}}
	if err := o.Remove(t.Context(), "j", true); err != nil {
		t.Error(err)
	}
	if n, err := other.session.Read(t.Context(), "/jobs/j"); err != nil || n.Exists {
		t.Errorf("left: %d nodes, %v", len(n.Children), err)
	}
	if err := errors.Join(o.Close(), other.Close(), reg.Close()); err != nil {
		t.Error(err)
	}
}

// A removal that has deleted the definition continues after its request ends.
func TestRemovalOutlastsItsRequest(t *testing.T) {
	t.Parallel()
	reg := embedded.MemoryWith(embedded.Options{MaxCommit: 64 << 10})
	o, other := operate(t, reg), operate(t, reg)
	putLarge(t, o)
	ctx, end := context.WithCancel(t.Context())
	defer end()
	o.session = &parted{Session: o.session, then: end}
	if err := o.Remove(ctx, "j", true); err != nil || ctx.Err() == nil {
		t.Errorf("%v, and the request: %v", err, ctx.Err())
	}
	if n, err := other.session.Read(t.Context(), "/jobs/j"); err != nil || n.Exists {
		t.Errorf("left: %d nodes, %v", len(n.Children), err)
	}
	if err := errors.Join(o.Close(), other.Close(), reg.Close()); err != nil {
		t.Error(err)
	}
}

// A permanent refusal is returned at once, as it is.
func TestRemovalThatMayNotRead(t *testing.T) {
	t.Parallel()
	reg := embedded.MemoryWith(embedded.Options{MaxCommit: 64 << 10})
	o := operate(t, reg)
	putLarge(t, o)
	s := &parted{Session: o.session, fails: fmt.Errorf("%w: as the test wants it", registry.ErrDenied)}
	o.session = s
	if err := o.Remove(t.Context(), "j", true); !errors.Is(err, registry.ErrDenied) {
		t.Error(err)
	}
	s.reads = 0
	if err := o.sweep(t.Context(), layout.NewJob("jobs", "j")); !errors.Is(err, registry.ErrDenied) || s.reads != 1 {
		t.Errorf("%d reads, %v", s.reads, err)
	}
	if err := errors.Join(o.Close(), reg.Close()); err != nil {
		t.Error(err)
	}
}
