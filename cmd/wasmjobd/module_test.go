package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/guest"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/operator"
	"github.com/wasmjob/wasmjob/host/registry"
	"github.com/wasmjob/wasmjob/host/registry/embedded"
)

// interrupting is a registry whose next commit is interrupted: its outcome is unknown.
type interrupting struct {
	registry.Registry
	interrupt func()
	late      bool // the commit is applied at the next Sync, and not before
	opened    registry.Session
}

// Open implements registry.Registry.
func (r *interrupting) Open(ctx context.Context, on func(registry.Event)) (registry.Session, error) {
	s, err := r.Registry.Open(ctx, on)
	r.opened = &interruptingSession{Session: s, of: r}
	return r.opened, err
}

type interruptingSession struct {
	registry.Session
	of      *interrupting
	pending []registry.Op
}

// Commit implements registry.Requests.
func (s *interruptingSession) Commit(ctx context.Context, ops ...registry.Op) (registry.Receipt, error) {
	interrupt := s.of.interrupt
	if interrupt == nil {
		return s.Session.Commit(ctx, ops...)
	}
	s.of.interrupt, s.pending = nil, ops
	interrupt()
	if !s.of.late {
		if err := s.Sync(context.WithoutCancel(ctx)); err != nil {
			return registry.Receipt{}, err
		}
	}
	return registry.Receipt{}, fmt.Errorf("%w: %w", registry.ErrUnknown, ctx.Err())
}

// Sync implements registry.Requests.
func (s *interruptingSession) Sync(ctx context.Context) error {
	if err := s.Session.Sync(ctx); err != nil || s.pending == nil {
		return err
	}
	_, err := s.Session.Commit(ctx, s.pending...)
	s.pending = nil
	return err
}

// A verb that is interrupted while it names the next module leaves none named.
func TestInterruptedWhileTheModuleIsNamed(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		late bool
		verb func(context.Context, *operatorVerb, *operator.Operator) error
	}{
		{"set", false, setAnother},
		{"set_late", true, setAnother},
		{"rollback", false, rollBackOnce},
		{"rollback_late", true, rollBackOnce},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := &interrupting{Registry: twoModules(t), late: tt.late}
			op, err := operator.Open(t.Context(), r, "jobs")
			if err != nil {
				t.Fatal(err)
			}
			before, err := op.Job(t.Context(), "says")
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			r.interrupt = cancel
			var said bytes.Buffer
			err = tt.verb(ctx, &operatorVerb{term: &terminal{out: &said, err: &said}}, op)
			if !errors.Is(err, context.Canceled) || !strings.Contains(said.String(), "stopped waiting") {
				t.Errorf("%v; said:\n%s", err, &said)
			}
			if err := r.opened.Sync(t.Context()); err != nil { // pending commits are applied now
				t.Fatal(err)
			}
			after, err := op.Job(t.Context(), "says")
			if err != nil || after.Modules.Next != nil || after.Modules.Now.Digest != before.Modules.Now.Digest {
				t.Errorf("%+v, %v", after.Modules, err)
			}
			if err := op.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

func setAnother(ctx context.Context, o *operatorVerb, op *operator.Operator) error {
	return o.setModule(ctx, op, "says", operator.ModuleRef{Digest: strings.Repeat("0", 64)}, time.Minute)
}

func rollBackOnce(ctx context.Context, o *operatorVerb, op *operator.Operator) error {
	return o.rollBack(ctx, op, "says", "", time.Minute)
}

// twoModules returns a registry with a job that no server runs any more, and that had another
// module before.
func twoModules(t *testing.T) registry.Registry {
	t.Helper()
	r := embedded.Memory()
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	const kit, token = "../../abi/conformance/wat/", "open-sesame"
	h, err := host.New(host.Options{
		Registry: r, Namespace: "jobs", DataDir: t.TempDir(), Peers: host.Peers{Listen: "127.0.0.1:0", Token: token},
		Modules: map[string]host.Module{"ok": {Path: kit + "ok.wasm"}}, Jobs: []job.Config{{Name: "says", Module: "ok", Shards: 1}},
		Log: slog.New(slog.NewTextHandler(t.Output(), nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- h.Run(ctx) }()
	defer func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}()
	<-h.Ready()
	op, err := operator.Open(ctx, r, "jobs")
	if err != nil {
		t.Fatal(err)
	}
	wasm, err := os.ReadFile(kit + "result.wasm")
	if err != nil {
		t.Fatal(err)
	}
	report, err := guest.Inspect(wasm)
	if err != nil {
		t.Fatal(err)
	}
	if faults, err := op.BringModule(ctx, "says", wasm, nil, token); err != nil || len(faults) > 0 {
		t.Fatal(faults, err)
	}
	if err := op.NextModule(ctx, "says", operator.ModuleRef{Digest: report.Digest}); err != nil {
		t.Fatal(err)
	}
	if err := op.AwaitModule(ctx, "says", report.Digest, func(w operator.ModuleWait) { t.Errorf("%+v", w) }); err != nil {
		t.Fatal(err)
	}
	if err := op.Close(); err != nil {
		t.Error(err)
	}
	return r
}
