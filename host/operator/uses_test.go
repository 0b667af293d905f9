package operator

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/internal/layout"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/registry"
	"github.com/wasmjob/wasmjob/host/registry/embedded"
)

// using returns an Operator on a server with one module for jobs a and b, and the module's digest.
func using(t *testing.T) (op *Operator, digest string) {
	t.Helper()
	reg := embedded.Memory()
	o := server(t, reg, "10.0.0.1")
	o.Namespace, o.Peers, o.Modules, o.Discover = "jobs", host.Peers{}, kit("ok"), false
	o.Jobs = []job.Config{{Name: "a", Module: "ok", Shards: 1}, {Name: "b", Module: "ok", Shards: 1}}
	h, stop := start(t, o)
	<-h.Ready()
	op = operate(t, reg)
	t.Cleanup(func() {
		if err := errors.Join(op.Close(), stop(), reg.Close()); err != nil {
			t.Error(err)
		}
	})
	return op, digestOf(t, o.Modules["ok"].Path)
}

// spoil makes the node of a job's modules unreadable.
func spoil(t *testing.T, op *Operator, name string) {
	t.Helper()
	l := layout.NewJob("jobs", name)
	for _, path := range l.Definers() {
		if strings.HasSuffix(path, "module") {
			put(t, op, registry.Set, l.At(path), "{")
		}
	}
}

// A list shows which jobs use a module and how, and which modules are unused.
func TestModulesHaveTheirUses(t *testing.T) {
	t.Parallel()
	op, ok := using(t)
	next, unused := strings.Repeat("0", 64), strings.Repeat("f", 64)
	if err := op.NextModule(t.Context(), "b", ModuleRef{Digest: next}); err != nil {
		t.Fatal(err)
	}
	since := time.Unix(1, 0)
	here := func() ([]host.HeldModule, error) {
		return []host.HeldModule{{Digest: ok, Size: 3, Since: since}, {Digest: unused, Size: 4, Since: since}}, nil
	}
	list, err := op.Modules(t.Context(), here)
	if err != nil || len(list.Modules) != 3 || len(list.Unread) > 0 {
		t.Fatalf("%+v, %v", list, err)
	}
	for i, want := range []ModuleVersion{
		{ModuleRef: ModuleRef{Name: "ok", Digest: next}, Count: 1, Uses: []ModuleUse{{"b", "next"}}},
		{ModuleRef: ModuleRef{Name: "ok", Digest: ok}, Size: 3, Since: since, Count: 2, Uses: []ModuleUse{{"a", "runs"}, {"b", "runs"}}},
		{ModuleRef: ModuleRef{Digest: unused}, Size: 4, Since: since},
	} {
		got := list.Modules[i]
		got.Reference = ""
		if got.ModuleRef != want.ModuleRef || got.Size != want.Size || !got.Since.Equal(want.Since) || got.Count != want.Count || !slices.Equal(got.Uses, want.Uses) {
			t.Errorf("%+v, want %+v", got, want)
		}
	}
	spoil(t, op, "a")
	if list, err = op.Modules(t.Context(), nil); err != nil || !slices.Equal(list.Unread, []string{"a"}) || len(list.Modules) != 2 {
		t.Errorf("%+v, %v", list, err)
	}
	away := errors.New("the disk is away")
	if _, err = op.Modules(t.Context(), func() ([]host.HeldModule, error) { return nil, away }); !errors.Is(err, away) {
		t.Errorf("%v", err)
	}
}

// Modules to which a job can go back, and those that assign its items, count as used.
func TestModulesOfAllKindsAreUsed(t *testing.T) {
	t.Parallel()
	r := ModulesReport{
		Now: &ModuleRef{Digest: "now"}, Next: &ModuleRef{Digest: "next"}, Strategy: &ModuleRef{Digest: "strategy"},
		Past: []ModuleRef{{Digest: "older"}, {Digest: "old"}},
	}
	var got []string
	for ref, as := range r.named() {
		got = append(got, ref.Digest+" "+as)
	}
	if want := []string{"now runs", "next next", "strategy strategy", "old before", "older before"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
