package operator

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/guest"
	"github.com/wasmjob/wasmjob/host/internal/layout/clustertree"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/registry"
	"github.com/wasmjob/wasmjob/host/registry/embedded"
)

var (
	digestA = strings.Repeat("a", 64)
	digestB = strings.Repeat("b", 64)
)

// operating is an Operator that is closed, with its registry, when the test ends.
func operating(t *testing.T, reg registry.Registry) *Operator {
	t.Helper()
	op := operate(t, reg)
	t.Cleanup(func() {
		if err := errors.Join(op.Close(), reg.Close()); err != nil {
			t.Error(err)
		}
	})
	return op
}

// A name always means the same module, and naming is audited.
func TestVersionsStayWhatTheyAre(t *testing.T) {
	t.Parallel()
	op := operating(t, embedded.Memory())
	ctx := t.Context()
	for range 2 { // the second call changes nothing
		if err := op.NameModule(ctx, "orders@1.4.0", digestA); err != nil {
			t.Fatal(err)
		}
	}
	if err := op.NameModule(ctx, "orders@1.5.0", digestA); err != nil {
		t.Fatal(err)
	}
	err := op.NameModule(ctx, "orders@1.4.0", digestB)
	wantCode(t, "other bytes", err, host.Refused)
	if err == nil || !strings.Contains(err.Error(), digestA) || !strings.Contains(err.Error(), "use another version") {
		t.Error(err)
	}
	for _, text := range []string{"orders", "@1", "orders@", "../orders@1", "orders@../1", "orders@1@2", "Orders@1", "orders@1/2"} {
		wantCode(t, text, op.NameModule(ctx, text, digestA), host.Invalid)
		_, err := op.Resolve(ctx, text)
		wantCode(t, text, err, host.Invalid)
		wantCode(t, text, op.UnnameModule(ctx, text), host.Invalid)
	}
	wantCode(t, "no digest", op.NameModule(ctx, "orders@2", "../x"), host.Invalid)
	for text, want := range map[string]string{"orders@1.4.0": digestA, "orders@1.5.0": digestA, digestB: digestB} {
		if got, err := op.Resolve(ctx, text); err != nil || got != want {
			t.Errorf("%s is %s, %v", text, got, err)
		}
	}
	_, err = op.Resolve(ctx, "orders@1.6.0")
	wantCode(t, "no such version", err, host.NotFound)
	if err := op.UnnameModule(ctx, "orders@1.4.0"); err != nil {
		t.Fatal(err)
	}
	wantCode(t, "taken away already", op.UnnameModule(ctx, "orders@1.4.0"), host.NotFound)
	if err := op.NameModule(ctx, "orders@1.4.0", digestB); err != nil {
		t.Error(err)
	}
	rows, err := op.Audit(ctx, AuditFilter{})
	if err != nil || len(rows) != 4 {
		t.Errorf("%+v, %v", rows, err)
	}
}

// If two operators give the same name to different modules at the same time, one is refused.
func TestOnlyOneOfTwoNamesAModule(t *testing.T) {
	t.Parallel()
	reg := embedded.Memory()
	one, other := operating(t, reg), operate(t, reg)
	var faults [2]error
	var both sync.WaitGroup
	both.Go(func() { faults[0] = one.NameModule(t.Context(), "orders@1", digestA) })
	both.Go(func() { faults[1] = other.NameModule(t.Context(), "orders@1", digestB) })
	both.Wait()
	if (faults[0] == nil) == (faults[1] == nil) {
		t.Errorf("%v", faults)
	}
	wantCode(t, "the second", errors.Join(faults[:]...), host.Refused)
	if err := other.Close(); err != nil {
		t.Error(err)
	}
}

func TestVersionsAreBounded(t *testing.T) {
	t.Parallel()
	reg := embedded.Memory()
	op := operating(t, reg)
	if err := op.NameModule(t.Context(), "orders@0", digestA); err != nil {
		t.Fatal(err)
	}
	var all clustertree.Versions
	for i := range clustertree.MaxVersions {
		all.Add(clustertree.Version{Name: "n", Version: strconv.Itoa(i), Digest: digestA, At: 1})
	}
	set := func(data []byte) {
		t.Helper()
		if _, err := op.session.Commit(t.Context(), registry.Op{Kind: registry.Set, Path: op.tree.Versions(), Data: data, Version: registry.AnyVersion}); err != nil {
			t.Fatal(err)
		}
	}
	set(all.Encode())
	err := op.NameModule(t.Context(), "orders@1", digestA)
	wantCode(t, "one more", err, host.Refused)
	if err == nil || !strings.Contains(err.Error(), "module rm") {
		t.Error(err)
	}
	set([]byte(`{"v":2}`))
	wantCode(t, "a newer form", op.NameModule(t.Context(), "orders@1", digestA), host.Refused)
}

// A push names the module that it saves. With a name that is in use, it saves nothing.
func TestPushNamesTheModule(t *testing.T) {
	t.Parallel()
	op, _ := using(t)
	dir := t.TempDir()
	push := func(module string, dry bool) (PushReport, error) {
		wasm, err := os.ReadFile(kit(module)[module].Path)
		if err != nil {
			t.Fatal(err)
		}
		m, err := host.ReceiveModule(dir, bytes.NewReader(wasm), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer m.Close()
		return op.PushModule(t.Context(), m, Push{
			Name: "orders@1", DryRun: dry, Keep: m.Keep,
			Examine: func(ctx context.Context, _ io.Reader) (guest.Examination, error) { return guest.Examine(ctx, wasm) },
		})
	}
	if r, err := push("number", true); err != nil || r.Name != "orders@1" {
		t.Errorf("%+v, %v", r, err)
	}
	if all, err := op.Named(t.Context()); err != nil || len(all) > 0 {
		t.Errorf("a dry run names %v, %v", all, err)
	}
	first, err := push("number", false)
	if err != nil {
		t.Fatal(err)
	}
	_, err = push("result", false)
	wantCode(t, "the name is taken", err, host.Refused)
	wantKept(t, dir, first.Digest)
	list, err := op.Modules(t.Context(), func() ([]host.HeldModule, error) { return host.HeldModules(dir) })
	found := slices.IndexFunc(list.Modules, func(m ModuleVersion) bool { return m.Digest == first.Digest })
	if err != nil || found < 0 {
		t.Fatalf("%+v, %v", list, err)
	}
	if m := list.Modules[found]; m.Count != 1 || m.Name != "orders" || !slices.Equal(m.Names, []string{"orders@1"}) {
		t.Errorf("%+v", m)
	}
	if used, err := op.usedModules(t.Context()); err != nil || !used[first.Digest] {
		t.Errorf("prune would take it: %v, %v", used, err)
	}
}

// A pinned module stays, and a roll-back respects the pin.
func TestPinnedModuleStays(t *testing.T) {
	t.Parallel()
	reg := embedded.Memory()
	o := server(t, reg, "10.0.0.1")
	o.Namespace, o.Peers, o.Modules, o.Discover = "jobs", host.Peers{}, kit("ok"), false
	o.Modules["result"] = kit("result")["result"]
	o.Jobs = []job.Config{{Name: "wasm", Module: "ok", Shards: 1, Overwrite: true}}
	h, stop := start(t, o)
	<-h.Ready()
	op, ctx := operating(t, reg), t.Context()
	wantCode(t, "no such job", op.PinModule(ctx, "nobody"), host.NotFound)
	next := ModuleRef{Digest: digestA}
	if err := op.NextModule(ctx, "wasm", next); err != nil {
		t.Fatal(err)
	}
	wantCode(t, "another is to come", op.PinModule(ctx, "wasm"), host.Refused)
	if err := op.WithdrawModule(ctx, "wasm", digestA); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := op.PinModule(ctx, "wasm"); err != nil {
			t.Fatal(err)
		}
	}
	wantCode(t, "set", op.NextModule(ctx, "wasm", next), host.Refused)
	_, _, err := op.RollBack(ctx, "wasm", "")
	wantCode(t, "rollback", err, host.Refused)
	if err == nil || !strings.Contains(err.Error(), "run module unpin wasm first") {
		t.Error(err)
	}
	// A reload with another module for the job and overwrite.
	o.Jobs[0].Module = "result"
	if _, err := h.Reload(context.WithoutCancel(ctx), o.Jobs, o.Modules); err != nil {
		t.Fatal(err)
	}
	pinned := digestOf(t, o.Modules["ok"].Path)
	if r, err := op.Job(ctx, "wasm"); err != nil || !r.Modules.Pinned || r.Modules.Now.Digest != pinned || r.Modules.Next != nil {
		t.Errorf("after a reload: %+v, %v", r, err)
	}
	if err := op.UnpinModule(ctx, "wasm"); err != nil {
		t.Fatal(err)
	}
	if err := op.NextModule(ctx, "wasm", next); err != nil {
		t.Error(err)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
}
