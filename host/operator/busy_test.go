package operator

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/internal/layout"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/registry"
	"github.com/wasmjob/wasmjob/host/registry/embedded"
)

// busy is a session during whose every read and write an item of the job changes, until the job's
// definition is gone.
type busy struct {
	registry.Session
	items registry.Session
	l     layout.Layout
	turns int
}

const busyItems = 500

var errNoEnd = errors.New("it reads on and on")

// turn begins a run of an item with a mark or, in the next call, ends it.
func (b *busy) turn(ctx context.Context) error {
	b.turns++
	n := b.turns
	if n > 40*busyItems {
		return errNoEnd
	}
	config, _, _ := b.l.Nodes()
	kind := registry.Create
	if n%2 == 0 {
		kind = registry.Delete
	}
	_, err := b.items.Commit(ctx, registry.Op{Kind: registry.Check, Path: config, Version: registry.AnyVersion},
		registry.Op{Kind: kind, Path: b.l.At(b.l.ItemNode(n/2%busyItems) + "/running"), Version: registry.AnyVersion})
	synctest.Wait()                           // all sessions have the event
	if errors.Is(err, registry.ErrConflict) { // the definition is gone
		return nil
	}
	return err
}

// Read implements registry.Session.
func (b *busy) Read(ctx context.Context, path string) (registry.Node, error) {
	n, err := b.Session.Read(ctx, path)
	return n, errors.Join(err, b.turn(ctx))
}

// ReadMany implements ManyReader.
func (b *busy) ReadMany(ctx context.Context, paths []string) ([]registry.Node, error) {
	nodes := make([]registry.Node, len(paths))
	for i, path := range paths {
		n, err := b.Read(ctx, path)
		if err != nil {
			return nil, err
		}
		nodes[i] = n
	}
	return nodes, nil
}

// Commit implements registry.Session.
func (b *busy) Commit(ctx context.Context, ops ...registry.Op) (registry.Receipt, error) {
	if err := b.turn(ctx); err != nil {
		return registry.Receipt{}, err
	}
	return b.Session.Commit(ctx, ops...)
}

// A job of many busy items can never be read as of one moment. It can be paused, disabled and removed
// nevertheless.
func TestABusyJobObeys(t *testing.T) {
	t.Parallel()
	synctest.Test(t, testABusyJobObeys)
}

func testABusyJobObeys(t *testing.T) {
	reg := embedded.Memory()
	h, stop := start(t, host.Options{
		Registry: reg, Namespace: "jobs", Instance: "10.0.0.1@-@a", Runner: host.Func(fine),
		Jobs: []job.Config{{Name: "j", Shards: busyItems}},
	})
	<-h.Ready()
	synctest.Wait() // the items have an owner
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	o, quiet, items := operate(t, reg), operate(t, reg), operate(t, reg)
	b := &busy{Session: o.session, items: items.session, l: layout.NewJob("jobs", "j")}
	o.session = b
	ctx := t.Context()
	if _, err := o.Job(ctx, "j"); !errors.Is(err, errNoEnd) {
		t.Fatalf("the job is not busy: %v", err)
	}
	b.turns = 0
	for _, step := range []struct {
		what string
		do   func() error
		want func(*JobReport) bool
	}{
		{"pause", func() error { return o.Pause(ctx, "j", PauseTerms{}) }, func(r *JobReport) bool { return r.Paused }},
		{"resume", func() error { return o.Resume(ctx, "j") }, func(r *JobReport) bool { return !r.Paused }},
		{"disable an item", func() error { return o.SetItem(ctx, "j", 7, true) }, func(r *JobReport) bool { return r.Items[7].Disabled }},
		{"enable it", func() error { return o.SetItem(ctx, "j", 7, false) }, func(r *JobReport) bool { return !r.Items[7].Disabled }},
		{"disable", func() error { return o.SetJob(ctx, "j", true) }, func(r *JobReport) bool { return r.Servers[0].Disabled }},
		{"enable", func() error { return o.SetJob(ctx, "j", false) }, func(r *JobReport) bool { return !r.Servers[0].Disabled }},
		{"reshard", func() error { return o.Reshard(ctx, "j") }, func(r *JobReport) bool { return r.Resharding }},
	} {
		if err := step.do(); err != nil {
			t.Fatalf("%s: %v", step.what, err)
		}
		if r, err := quiet.Job(ctx, "j"); err != nil || !step.want(r) {
			t.Errorf("%s: %+v, %v", step.what, r, err)
		}
	}
	if err := o.Remove(ctx, "j", true); err != nil {
		t.Error(err)
	}
	if n, err := quiet.session.Read(ctx, b.l.Root()); err != nil || n.Exists {
		t.Errorf("left: %+v, %v", n.Children, err)
	}
	if err := errors.Join(o.Close(), quiet.Close(), items.Close(), reg.Close()); err != nil {
		t.Error(err)
	}
}
