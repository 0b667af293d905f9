package operator

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/reason"
	"github.com/wasmjob/wasmjob/host/registry"
	"github.com/wasmjob/wasmjob/host/registry/embedded"
)

// A job that may not be read does not hide the others.
func TestOperatorAndNodesOfOthers(t *testing.T) {
	t.Parallel()
	reg := embedded.Memory()
	other := newTool(t, reg)
	for _, name := range []string{"mine", "theirs"} {
		other.define(job.Config{Name: name, Kind: job.Simple, Cron: "* * * * * ?", Shards: 1, MaxClockSkew: -1})
	}
	o, err := Open(t.Context(), private{reg, "/n/theirs"}, "n")
	if err != nil {
		t.Fatal(err)
	}
	all, err := o.Jobs(t.Context())
	if err != nil || len(all) != 2 || all[0].State != "down" || all[1].State != "unreadable" || !strings.Contains(reason.Words(all[1].Faults, " "), "its nodes belong to another user, see digest") {
		t.Errorf("jobs %+v, %v", all, err)
	}
	_, err = o.Job(t.Context(), "theirs")
	wantCode(t, "one job", err, host.Denied)
	other.close()
	if err := errors.Join(o.Close(), reg.Close()); err != nil {
		t.Error(err)
	}
}

// private denies reads of a path and of all nodes below it.
type private struct {
	registry.Registry
	path string
}

func (p private) Open(ctx context.Context, on func(registry.Event)) (registry.Session, error) {
	s, err := p.Registry.Open(ctx, on)
	return privateSession{s, p.path}, err
}

type privateSession struct {
	registry.Session
	path string
}

func (s privateSession) Read(ctx context.Context, path string) (registry.Node, error) {
	if path == s.path || strings.HasPrefix(path, s.path+"/") {
		return registry.Node{}, fmt.Errorf("read %s: %w", path, registry.ErrDenied)
	}
	return s.Session.Read(ctx, path)
}

// A request that conflicts with another writer is decided again.
func TestOperatorAmongOthers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reg := embedded.Memory()
		h, stop := start(t, host.Options{Registry: reg, Namespace: "jobs", Runner: host.Func(fine), Jobs: []job.Config{{Name: "j", Cron: "* * * * * ?", Shards: 3}}})
		<-h.Ready()
		o := operate(t, refusing{reg})
		for range 3 {
			if err := o.Pause(t.Context(), "j", PauseTerms{}); err != nil {
				t.Error(err)
			}
			if err := o.Resume(t.Context(), "j"); err != nil {
				t.Error(err)
			}
		}
		if err := errors.Join(o.Close(), stop(), reg.Close()); err != nil {
			t.Error(err)
		}
	})
}

// refusing refuses the first two tries of every transaction, the second with an unknown
// outcome.
type refusing struct{ registry.Registry }

func (c refusing) Open(ctx context.Context, on func(registry.Event)) (registry.Session, error) {
	s, err := c.Registry.Open(ctx, on)
	return &refusingSession{Session: s}, err
}

type refusingSession struct {
	registry.Session
	tries int
}

func (s *refusingSession) Commit(ctx context.Context, ops ...registry.Op) (registry.Receipt, error) {
	switch s.tries++; s.tries % 3 {
	case 1:
		return registry.Receipt{}, &registry.ConflictError{Op: ops[0], Reason: registry.BadVersion}
	case 2:
		return registry.Receipt{}, registry.ErrUnknown
	}
	return s.Session.Commit(ctx, ops...)
}
