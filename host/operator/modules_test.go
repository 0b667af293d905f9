package operator

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/internal/definition"
	"github.com/wasmjob/wasmjob/host/internal/module"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/registry/embedded"
)

// A refused verb on modules says why and changes nothing.
func TestModulesThatCannotBeSet(t *testing.T) {
	t.Parallel()
	reg := embedded.Memory()
	o := server(t, reg, "10.0.0.1")
	o.Namespace, o.Peers, o.Modules, o.Discover = "jobs", host.Peers{}, kit("ok"), false
	o.Jobs = []job.Config{{Name: "wasm", Module: "ok", Shards: 1}}
	h, stop := start(t, o)
	<-h.Ready()
	native, stopNative := start(t, host.Options{
		Registry: reg, Namespace: "jobs", Instance: "10.0.0.2@-@1", Runner: host.Func(fine), Jobs: []job.Config{{Name: "native", Shards: 1}},
	})
	<-native.Ready()
	op := operate(t, reg)
	ctx := t.Context()
	next := ModuleRef{Digest: strings.Repeat("0", 64)}
	bring := func(name string, wasm []byte) error {
		_, err := op.BringModule(ctx, name, wasm, nil, "token")
		return err
	}
	back := func(name, to string) error {
		_, _, err := op.RollBack(ctx, name, to)
		return err
	}
	for _, tt := range []struct {
		what string
		err  error
		code host.Code
	}{
		{"no such job", op.NextModule(ctx, "nobody", next), host.NotFound},
		{"no digest", op.NextModule(ctx, "wasm", ModuleRef{Digest: "../x"}), host.Invalid},
		{"no module", op.NextModule(ctx, "native", next), host.Refused},
		{"nobody takes it", bring("wasm", []byte("x")), host.Refused},
		{"too large", bring("wasm", make([]byte, module.MaxSize+1)), host.Invalid},
		{"nothing ran before", back("wasm", ""), host.Refused},
		{"nothing like that ran before", back("wasm", "0"), host.NotFound},
		{"nothing like that ran before, in full", back("wasm", "sha256:0"), host.NotFound},
		{"no beginning of a digest", back("wasm", "sha256:"), host.Invalid},
		{"it is not awaited", op.AwaitModule(ctx, "wasm", next.Digest, nil), host.Refused},
	} {
		wantCode(t, tt.what, tt.err, tt.code)
	}
	r, err := op.Job(ctx, "wasm")
	if err != nil {
		t.Fatal(err)
	}
	if m := r.Modules; m.Now == nil || m.Now.Digest != digestOf(t, o.Modules["ok"].Path) || m.Next != nil || len(m.Past) > 0 {
		t.Errorf("%+v", m)
	}
	// AwaitModule ends when another module was named.
	if err := op.NextModule(ctx, "wasm", next); err != nil {
		t.Fatal(err)
	}
	other := operate(t, reg)
	err = op.AwaitModule(ctx, "wasm", next.Digest, func(w ModuleWait) {
		if err := other.WithdrawModule(context.WithoutCancel(ctx), "wasm", next.Digest); err != nil || !strings.Contains(w.Fault, "no server of the job offers it") {
			t.Errorf("%+v, %v", w, err)
		}
	})
	wantCode(t, "withdrawn by somebody else", err, host.Refused)
	if err := op.NextModule(ctx, "wasm", next); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(stop(), stopNative()); err != nil {
		t.Error(err)
	}
	wantCode(t, "nobody is left", op.AwaitModule(ctx, "wasm", next.Digest, func(ModuleWait) {}), host.Refused)
	for _, end := range []func() error{op.Close, other.Close, reg.Close} {
		if err := end(); err != nil {
			t.Error(err)
		}
	}
}

// A step back with an unknown outcome is decided again, and stays one step.
func TestRollBackIsOneStep(t *testing.T) {
	t.Parallel()
	code := func(digest string) *definition.Code { return &definition.Code{Name: "m", Digest: digest} }
	past := []definition.Code{{Digest: "a"}, {Digest: "b"}}
	for _, tt := range []struct {
		name  string
		to    string
		was   definition.Module
		after *definition.Module // at the second try; nil: as the first try left it
		want  string             // the wanted module after the second try
	}{
		{name: "named", was: definition.Module{Code: code("c"), Past: past}, want: "b"},
		{name: "named_older", to: "a", was: definition.Module{Code: code("c"), Past: past}, want: "a"},
		{name: "taken_back", was: definition.Module{Code: code("c"), Next: code("d"), Past: past}, want: "c"},
		{name: "another_instead", to: "a", was: definition.Module{Code: code("c"), Next: code("d"), Past: past}, want: "a"},
		{
			name: "named_and_switched", was: definition.Module{Code: code("c"), Past: past},
			after: &definition.Module{Code: code("b"), Past: past[:1]}, want: "b",
		},
		{
			name: "switched_instead", was: definition.Module{Code: code("c"), Next: code("d"), Past: past},
			after: &definition.Module{Code: code("d"), Past: []definition.Code{{Digest: "a"}, {Digest: "b"}, {Digest: "c"}}}, want: "c",
		},
		{
			name: "not_written", was: definition.Module{Code: code("c"), Past: past},
			after: &definition.Module{Code: code("c"), Past: past}, want: "b",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r, m := rollBack{to: tt.to}, tt.was
			if _, _, err := r.decide(&m); err != nil {
				t.Fatal(err)
			}
			if tt.after != nil {
				m = *tt.after
			}
			back, runs, err := r.decide(&m)
			if err != nil || back.Digest != tt.want || m.Wanted().Digest != tt.want || runs != (m.Next == nil) {
				t.Errorf("%s, %v, %v: %s is wanted, want %s", back.Digest, runs, err, m.Wanted().Digest, tt.want)
			}
		})
	}
}

func digestOf(t *testing.T, path string) string {
	t.Helper()
	wasm, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(wasm)
	return hex.EncodeToString(sum[:])
}
