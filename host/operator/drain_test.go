package operator

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/internal/javatest"
	"github.com/wasmjob/wasmjob/host/internal/layout/clustertree"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/reason"
	"github.com/wasmjob/wasmjob/host/registry"
	"github.com/wasmjob/wasmjob/host/registry/embedded"
	"github.com/wasmjob/wasmjob/host/trace"
)

// A drained server starts nothing, even for a later job. Undrain leaves disabled what was disabled before
// the drain.
func TestDrain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const ip = "10.0.0.1"
		reg, rows := embedded.Memory(), &pile{}
		each := func(name string) job.Config { return job.Config{Name: name, Cron: "0 * * * * ?", Shards: 1} }
		h, stop := start(t, host.Options{
			Registry: reg, Namespace: "jobs", Instance: ip + "@-@a", Jobs: []job.Config{each("a"), each("b")}, Runner: host.Func(fine), Sinks: []trace.Sink{rows},
		})
		<-h.Ready()
		time.Sleep(30 * time.Second)
		o, o2 := operate(t, reg), operate(t, reg)
		o.As(Author{Name: "ann", Way: BySocket})
		wantCode(t, "nobody's server", second(o.Drain(t.Context(), "10.0.0.9", "")), host.NotFound)
		wantCode(t, "not drained", second(o.Undrain(t.Context(), ip)), host.NotFound)
		if err := o.SetServer(t.Context(), "b", ip, true); err != nil {
			t.Fatal(err)
		}
		if set, _, err := o.Drain(t.Context(), ip, "a new disk"); err != nil || !slices.Equal(set, []string{"a", "b"}) {
			t.Fatalf("drained for %v: %v", set, err)
		}
		all, err := o.Servers(t.Context())
		if err != nil || len(all) != 1 || all[0].Drain == nil || all[0].Drain.By != "ann" || all[0].Drain.Why != "a new disk" {
			t.Errorf("%v: %+v", err, all)
		}
		if _, _, err := o2.Drain(t.Context(), ip, ""); err != nil { // again, by another operator
			t.Error(err)
		}
		if all, err := o.Servers(t.Context()); err != nil || all[0].Drain.By != "ann" || all[0].Drain.Why != "a new disk" {
			t.Errorf("drained again: %v: %+v", err, all)
		}
		wantCode(t, "enabled while it is drained", second(o.SetServers(t.Context(), ip, false)), host.Refused)
		wantCode(t, "enabled for a job", o.SetServer(t.Context(), "a", ip, false), host.Refused)
		wantCode(t, "a job of which every server is drained", o.SetJob(t.Context(), "a", false), host.Refused)
		time.Sleep(2 * time.Minute)
		if n := rows.count("a", trace.Succeeded); n != 0 {
			t.Errorf("%d runs on a drained server", n)
		}
		for name, want := range map[string]bool{"a": true, "b": false} { // b was disabled before
			page, _, err := o.JobsPage(t.Context(), JobFilter{Part: name, Limit: 1})
			one, err2 := o.Job(t.Context(), name)
			if err := errors.Join(err, err2); err != nil || (len(one.Drained()) == 1) != want || (page[0].drainAt(ip) != nil) != want {
				t.Errorf("%s: %v, %+v", name, err, one)
			}
			e, err := o.Explain(t.Context(), Question{Job: name})
			if err != nil || (e.Items[0].Why.Code == reason.ServerDrained) != want {
				t.Errorf("%s is explained by %+v, %v", name, e, err)
			}
		}

		// Another server of this address comes later with a job of its own.
		if err := h.Put(t.Context(), each("c")); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		_, before, err := o.readDrains(t.Context(), "test")
		if err != nil {
			t.Fatal(err)
		}
		if err := o2.drainJoined(t.Context(), ip, before); err != nil {
			t.Error(err)
		}
		if r, err := o.Job(t.Context(), "c"); err != nil || r.State != "disabled" {
			t.Errorf("%v: the later job is %+v", err, r)
		}

		// An undrain is interrupted after its first transaction, and repeated.
		if err := o.changeDrains(t.Context(), "test", deed{verb: "test"}, func(all *clustertree.Drains) error {
			all.Find(ip).Ending = true
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		set, _, err := o.Undrain(t.Context(), ip)
		if err != nil || !slices.Equal(set, []string{"a", "c"}) {
			t.Errorf("undrained for %v: %v", set, err)
		}
		if err := o2.drainJoined(t.Context(), ip, before); err == nil {
			t.Error("a server that has not heard of the end disables itself again")
		}
		time.Sleep(time.Minute)
		if a, b := rows.count("a", trace.Succeeded), rows.count("b", trace.Succeeded); a != 1 || b != 0 {
			t.Errorf("%d and %d runs after it", a, b)
		}
		if err := errors.Join(o.Close(), o2.Close(), stop(), reg.Close()); err != nil {
			t.Error(err)
		}
	})
}

// What an operator disables during a drain stays disabled after it, in each of the three ways.
func TestDisabledDuringADrain(t *testing.T) {
	t.Parallel()
	const ip = "10.0.0.1"
	for what, disable := range map[string]func(context.Context, *Operator) error{
		"the job":                func(ctx context.Context, o *Operator) error { return o.SetJob(ctx, javatest.Name, true) },
		"the server for the job": func(ctx context.Context, o *Operator) error { return o.SetServer(ctx, javatest.Name, ip, true) },
		"the server": func(ctx context.Context, o *Operator) error {
			_, _, err := o.SetServers(ctx, ip, true)
			return err
		},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			o := operate(t, passing(t))
			javatest.Write(t, o.session, javatest.Config(nil))
			put(t, o, registry.Set, javatest.Node("servers", ip), "")
			if err := errors.Join(second(o.Drain(t.Context(), ip, "")), disable(t.Context(), o), disable(t.Context(), o)); err != nil {
				t.Fatal(err)
			}
			one, err := o.Job(t.Context(), javatest.Name)
			if err != nil || len(one.Drained()) != 0 {
				t.Errorf("during the drain: %v, %+v", err, one.Servers)
			}
			if set, _, err := o.Undrain(t.Context(), ip); err != nil || len(set) != 0 {
				t.Errorf("undrained for %v: %v", set, err)
			}
			one, err = o.Job(t.Context(), javatest.Name)
			if err != nil || !slices.Contains(one.Servers, ServerState{IP: ip, Disabled: true}) {
				t.Errorf("after the drain: %v, %+v", err, one.Servers)
			}
			if err := errors.Join(o.SetServer(t.Context(), javatest.Name, ip, false), o.Close()); err != nil {
				t.Error(err)
			}
		})
	}
}

func second(_, _ []string, err error) error { return err }

// silentOnce does not answer the first read of a path.
type silentOnce struct {
	registry.Session
	path  string
	asked bool
}

func (s *silentOnce) Read(ctx context.Context, path string) (registry.Node, error) {
	if path == s.path && !s.asked {
		s.asked = true
		return registry.Node{}, errors.New("no answer")
	}
	return s.Session.Read(ctx, path)
}

// A job is not enabled in part because the drains could not be read for one server.
func TestJobIsNotEnabledWithoutTheDrains(t *testing.T) {
	t.Parallel()
	o := operate(t, passing(t))
	javatest.Write(t, o.session, javatest.Config(nil))
	put(t, o, registry.Set, javatest.Node("servers", "10.0.0.1"), "DISABLED")
	put(t, o, registry.Create, javatest.Node("servers", "10.0.0.2"), "DISABLED")
	o.session = &silentOnce{Session: o.session, path: o.tree.Drains()}
	wantCode(t, "enable", o.SetJob(t.Context(), javatest.Name, false), host.Unavailable)
	v, _, err := o.jobView(t.Context(), javatest.Name)
	if err != nil || !v.Servers[0].Disabled || !v.Servers[1].Disabled {
		t.Errorf("%v: %+v", err, v.Servers)
	}
}

// Reports on jobs work without readable drains, which would only add reasons to them.
func TestDrainsOfANewerRelease(t *testing.T) {
	t.Parallel()
	o := operate(t, passing(t))
	javatest.Write(t, o.session, javatest.Config(nil))
	put(t, o, registry.Set, javatest.Node("servers", "10.0.0.1"), "DISABLED")
	if err := o.makeTree(t.Context()); err != nil {
		t.Fatal(err)
	}
	put(t, o, registry.Create, o.tree.Drains(), `{"v":99}`)
	all, err := o.Jobs(t.Context())
	_, _, pageErr := o.JobsPage(t.Context(), JobFilter{Limit: 1})
	_, jobErr := o.Job(t.Context(), javatest.Name)
	_, explainErr := o.Explain(t.Context(), Question{Job: javatest.Name})
	if err := errors.Join(err, pageErr, jobErr, explainErr); err != nil {
		t.Error(err)
	}
	if len(all) != 1 || !slices.Contains(all[0].Servers, ServerState{IP: "10.0.0.1", Disabled: true}) {
		t.Errorf("the jobs are %+v", all)
	}
	_, err = o.Servers(t.Context())
	wantCode(t, "servers", err, host.Refused)
	if err := o.SetJob(t.Context(), javatest.Name, true); err != nil {
		t.Error("they keep an operator from disabling a job:", err)
	}
	if err := o.Close(); err != nil {
		t.Error(err)
	}
}
