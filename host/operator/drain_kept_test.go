package operator

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"testing"

	"github.com/wasmjob/wasmjob/host/internal/javatest"
	"github.com/wasmjob/wasmjob/host/internal/layout"
	"github.com/wasmjob/wasmjob/host/internal/layout/v21"
	"github.com/wasmjob/wasmjob/host/registry"
)

// watchedCommits tells of the transactions of a session that write a node, after each of them.
type watchedCommits struct {
	registry.Session
	path  string
	after func()
}

func (s *watchedCommits) Commit(ctx context.Context, ops ...registry.Op) (registry.Receipt, error) {
	r, err := s.Session.Commit(ctx, ops...)
	if err == nil && slices.ContainsFunc(ops, func(op registry.Op) bool { return op.Path == s.path && op.Kind != registry.Check }) {
		s.after()
	}
	return r, err
}

// A job that an operator has disabled during a drain, and then enabled, is enabled after it.
func TestEnabledDuringADrain(t *testing.T) {
	t.Parallel()
	for what, servers := range map[string][]string{"one server": {"10.0.0.1"}, "two servers": {"10.0.0.1", "10.0.0.2"}} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			o := operate(t, passing(t))
			javatest.Write(t, o.session, javatest.Config(nil))
			put(t, o, registry.Set, javatest.Node("servers", "10.0.0.1"), "")
			for _, ip := range servers[1:] {
				put(t, o, registry.Create, javatest.Node("servers", ip), "")
			}
			if err := errors.Join(second(o.Drain(t.Context(), "10.0.0.1", "")), o.SetJob(t.Context(), javatest.Name, true)); err != nil {
				t.Fatal(err)
			}
			stale := errors.New("the job has changed")
			o.OnlyIf(func(*JobReport) error { return stale })
			if err := o.SetJob(t.Context(), javatest.Name, false); !errors.Is(err, stale) {
				t.Error("enabled although the job has changed:", err)
			}
			o.OnlyIf(nil)
			if all, _, err := o.readDrains(t.Context(), "test"); err != nil || len(all.Find("10.0.0.1").Kept) != 1 {
				t.Errorf("the drains are %+v, %v", all, err)
			}
			err := errors.Join(o.SetJob(t.Context(), javatest.Name, false), second(o.Undrain(t.Context(), "10.0.0.1")))
			one, err2 := o.Job(t.Context(), javatest.Name)
			if err := errors.Join(err, err2, o.Close()); err != nil {
				t.Fatal(err)
			}
			for _, ip := range servers {
				if !slices.Contains(one.Servers, ServerState{IP: ip}) {
					t.Errorf("the servers are %+v", one.Servers)
				}
			}
		})
	}
}

// What an operator disables while a drain is being ended stays disabled.
func TestDisabledDuringAnUndrain(t *testing.T) {
	t.Parallel()
	const ip = "10.0.0.1"
	reg := passing(t)
	o, other := operate(t, reg), operate(t, reg)
	javatest.Write(t, o.session, javatest.Config(nil))
	put(t, o, registry.Set, javatest.Node("servers", ip), "")
	if _, _, err := o.Drain(t.Context(), ip, ""); err != nil {
		t.Fatal(err)
	}
	first := true
	o.session = &watchedCommits{o.session, o.tree.Drains(), func() {
		if first {
			first = false
			if err := other.SetServer(t.Context(), javatest.Name, ip, true); err != nil {
				t.Error(err)
			}
		}
	}}
	set, _, err := o.Undrain(t.Context(), ip)
	one, err2 := o.Job(t.Context(), javatest.Name)
	if err := errors.Join(err, err2, o.Close(), other.Close()); err != nil || len(set) != 0 || !slices.Contains(one.Servers, ServerState{IP: ip, Disabled: true}) {
		t.Errorf("undrained for %v: %v, %+v", set, err, one.Servers)
	}
}

// A drained server that is disabled for all jobs changes the drains once, since every server reads them then.
func TestServerDisabledDuringADrain(t *testing.T) {
	t.Parallel()
	const ip = "10.0.0.1"
	o := operate(t, passing(t))
	put(t, o, registry.Create, "/jobs", "")
	for i := range 3 {
		name := fmt.Sprint("j", i)
		l := layout.NewJob("jobs", name)
		put(t, o, registry.Create, l.Root(), "")
		put(t, o, registry.Create, l.At("config"), javatest.Config(func(c *v21.Config) { c.JobName = name }))
		put(t, o, registry.Create, l.At("servers"), "")
		put(t, o, registry.Create, path.Join(l.At("servers"), ip), "")
	}
	if _, _, err := o.Drain(t.Context(), ip, ""); err != nil {
		t.Fatal(err)
	}
	changes := 0
	o.session = &watchedCommits{o.session, o.tree.Drains(), func() { changes++ }}
	set, _, err := o.SetServers(t.Context(), ip, true)
	if err != nil || len(set) != 3 || changes != 1 {
		t.Errorf("disabled for %v by %d changes: %v", set, changes, err)
	}
	if set, _, err := o.Undrain(t.Context(), ip); err != nil || len(set) != 0 {
		t.Errorf("undrained for %v: %v", set, err)
	}
	if err := o.Close(); err != nil {
		t.Error(err)
	}
}
