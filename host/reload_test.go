package host

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/wasmjob/wasmjob/host/internal/layout"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/registry/embedded"
	"github.com/wasmjob/wasmjob/host/trace"
)

// lasting is a guest that takes some seconds.
func lasting(ctx context.Context, _ job.Call) job.Outcome {
	select {
	case <-time.After(5 * time.Second):
		return job.Outcome{Verdict: job.OK}
	case <-ctx.Done():
		return job.Outcome{Verdict: job.Stopped}
	}
}

func minutely(name string, shards int) job.Config {
	return job.Config{Name: name, Cron: "0 * * * * ?", Shards: shards}
}

// shards returns the totals of the jobs that run here.
func shards(h *Host) map[string]int {
	all := map[string]int{}
	for _, s := range h.Jobs() {
		if s.Instance != "" {
			all[s.Config.Name] = s.Config.Shards
		}
	}
	return all
}

func TestReload(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		rows := &pile{}
		h, stop := start(t, Options{
			Jobs: []job.Config{minutely("changes", 1), minutely("goes", 1), minutely("stays", 1)}, Runner: Func(lasting), Sinks: []trace.Sink{rows},
		})
		<-h.Ready()
		time.Sleep(time.Until(time.Now().Truncate(time.Minute).Add(61 * time.Second))) // all of them are running
		want := Reloaded{Added: []string{"comes"}, Changed: []string{"changes"}, Removed: []string{"goes"}, Kept: 1}
		for _, reload := range []func(context.Context, []job.Config, map[string]Module) (Reloaded, error){h.CheckReload, h.Reload} {
			got, err := reload(t.Context(), []job.Config{minutely("changes", 2), minutely("comes", 3), minutely("stays", 1)}, nil)
			if d := cmp.Diff(want, got); err != nil || d != "" {
				t.Errorf("%v, %s", err, d)
			}
		}
		time.Sleep(time.Minute + 10*time.Second)
		if d := cmp.Diff(map[string]int{"changes": 2, "comes": 3, "stays": 1}, shards(h)); d != "" {
			t.Error(d)
		}
		for name, want := range map[string]int{"changes": 1 + 2, "comes": 3, "goes": 1, "stays": 1 + 1} {
			if n := rows.count(name, trace.Succeeded); n != want || len(rows.rows) != 9 {
				t.Errorf("job %s: %d of %d rows, want %d of 9, and none of another state", name, n, len(rows.rows), want)
			}
		}
		if err := h.Trigger(t.Context(), "goes"); err == nil {
			t.Error("a job that is not there was triggered")
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

// Changes of except and jitter apply from the moment of the reload.
func TestReloadOfExceptAndJitter(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { // it begins on 2000-01-01
		rows := &pile{}
		plain, today, moved := minutely("j", 1), minutely("j", 1), minutely("j", 1)
		today.Except, moved.Jitter = []string{"01-01"}, 50*time.Second
		h, stop := start(t, Options{Jobs: []job.Config{plain}, Runner: Func(lasting), Sinks: []trace.Sink{rows}})
		<-h.Ready()
		for _, step := range []struct {
			file job.Config
			next time.Time
			runs int
		}{
			{today, time.Date(2000, 1, 2, 0, 0, 0, 0, time.UTC), 0},
			{plain, time.Date(2000, 1, 1, 0, 11, 0, 0, time.UTC), 0},
			{moved, time.Date(2000, 1, 1, 0, 21, 5, 0, time.UTC), 10},
		} {
			if _, err := h.Reload(t.Context(), []job.Config{step.file}, nil); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			if next := h.Jobs()[0].Next; !next.Equal(step.next) {
				t.Errorf("the next instant is %v, want %v", next, step.next)
			}
			if n := rows.count("j", trace.Succeeded); n != step.runs {
				t.Errorf("%d runs, want %d", n, step.runs)
			}
			time.Sleep(time.Until(time.Now().Truncate(10 * time.Minute).Add(10*time.Minute + 30*time.Second)))
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

// Reload reports all faults at once, and changes nothing.
func TestReloadIsRefused(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h, stop := start(t, Options{Jobs: []job.Config{minutely("a", 1), minutely("b", 1)}, Runner: Func(fine)})
		<-h.Ready()
		never, secret := minutely("b", 1), minutely("c", 1)
		never.Cron, secret.Allow.Secrets = "never", []string{"token"}
		_, err := h.Reload(t.Context(), []job.Config{minutely("a", 7), never, secret, minutely("a", 1)}, nil)
		wantCode(t, "a reload", err, Invalid)
		for _, text := range []string{"job a: the name occurs twice", "job b: cron", `job c: secrets: there is no secret "token"`} {
			if err == nil || !strings.Contains(err.Error(), text) {
				t.Errorf("%v, which does not say %q", err, text)
			}
		}
		time.Sleep(time.Minute)
		if d := cmp.Diff(map[string]int{"a": 1, "b": 1}, shards(h)); d != "" {
			t.Error(d)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		idle, err := New(Options{Jobs: []job.Config{minutely("a", 1)}, Runner: Func(fine)})
		if err != nil {
			t.Fatal(err)
		}
		_, err = idle.Reload(gone, nil, nil)
		wantCode(t, "a reload of a host that does not run", err, Unavailable)
	})
}

// A job that is put back while it leaves begins afterwards. A job that an operator has shut
// down here runs again when it is changed.
func TestReloadOfAJobThatLeaves(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		rows := &pile{}
		h, stop := start(t, Options{Jobs: []job.Config{minutely("a", 1), minutely("b", 1)}, Runner: Func(lasting), Sinks: []trace.Sink{rows}})
		<-h.Ready()
		time.Sleep(time.Until(time.Now().Truncate(time.Minute).Add(61 * time.Second)))
		for _, jobs := range [][]job.Config{{minutely("b", 1)}, {minutely("a", 2), minutely("b", 1)}, {minutely("b", 1)}, {minutely("a", 3), minutely("b", 1)}} {
			if _, err := h.Reload(t.Context(), jobs, nil); err != nil {
				t.Error(err)
			}
		}
		time.Sleep(time.Second)
		if d := cmp.Diff(map[string]int{"a": 1, "b": 1}, shards(h)); d != "" {
			t.Error("the job does not drain: " + d)
		}
		time.Sleep(10 * time.Second)
		if d := cmp.Diff(map[string]int{"a": 3, "b": 1}, shards(h)); d != "" || rows.count("a", trace.Succeeded) != 1 {
			t.Errorf("%s, %+v", d, rows.rows)
		}
		o := newTool(t, h.registry)
		instances := filepath.Dir(layout.NewJob("wasmjobd", "b").Instance("any"))
		for _, id := range o.read(instances).Children {
			o.remove(instances + "/" + id) // an operator shuts it down
		}
		time.Sleep(time.Second)
		for n, kept := range []int{2, 1} {
			if got, err := h.Reload(t.Context(), []job.Config{minutely("a", 3), minutely("b", 1+n)}, nil); err != nil || got.Kept != kept {
				t.Errorf("%+v, %v", got, err)
			}
			time.Sleep(time.Second)
			if err := h.Trigger(t.Context(), "b"); (err == nil) != (n == 1) {
				t.Errorf("trigger of a job that was shut down, of which %d are kept: %v", kept, err)
			}
		}
		o.close()
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

// With Discover, a job that is taken out of the file goes on as a job of the registry, and a
// job of the registry that is added to the file becomes the host's own.
func TestReloadAndTheRegistry(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reg := embedded.Memory()
		o := Options{
			Registry: reg, Instance: "10.0.0.1@-@1", Jobs: []job.Config{minutely("a", 1)}, Runner: Func(lasting), Discover: true,
		}
		h, stop := start(t, o)
		o.Instance, o.Jobs = "10.0.0.2@-@1", []job.Config{minutely("b", 2)}
		other, stopOther := start(t, o)
		<-h.Ready()
		<-other.Ready()
		synctest.Wait()
		for _, jobs := range [][]job.Config{{minutely("b", 2)}, {minutely("a", 3)}, {}, {minutely("a", 3), minutely("b", 4)}} {
			if _, err := h.Reload(t.Context(), jobs, nil); err != nil {
				t.Error(err)
			}
			time.Sleep(time.Minute)
			if got := shards(h); len(got) != 2 || len(h.Jobs()) != 2 {
				t.Errorf("with %d jobs in the file: %v", len(jobs), got)
			}
		}
		if d := cmp.Diff(map[string]int{"a": 3, "b": 4}, shards(other)); d != "" {
			t.Error(d)
		}
		for _, end := range []func() error{stop, stopOther, reg.Close} {
			if err := end(); err != nil {
				t.Error(err)
			}
		}
	})
}

// Reload reads the files of modules again. If a module cannot run, its job stays as it is.
func TestReloadReadsModules(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "job.wasm")
	put := func(name string) {
		text, err := os.ReadFile(kit(name)[name].Path)
		if err == nil {
			err = os.WriteFile(path, text, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	put("ok")
	modules := map[string]Module{"m": {Path: path}}
	rows := make(chan trace.Row, 100)
	o := server(t, nil, "10.0.0.1", rows)
	o.Modules, o.Discover = modules, false
	o.Jobs = []job.Config{{Name: "j", Module: "m", Shards: 1}}
	h, stop := start(t, o)
	<-h.Ready()
	if got, err := h.Reload(t.Context(), o.Jobs, modules); err != nil || got.Kept != 1 {
		t.Errorf("%+v, %v", got, err)
	}
	for name, text := range map[string]string{"import": "import", "deal": "is of the kinds"} {
		put(name)
		_, err := h.Reload(t.Context(), o.Jobs, modules)
		if wantCode(t, name, err, Invalid); err != nil && !strings.Contains(err.Error(), text) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	_, err := h.Reload(t.Context(), o.Jobs, modules)
	wantCode(t, "no file", err, Invalid)
	put("result")
	if got, err := h.Reload(t.Context(), o.Jobs, modules); err != nil || len(got.Changed) != 1 {
		t.Errorf("%+v, %v", got, err)
	}
	until(t, h, "the other module", func(all []job.Status) bool { return all[0].Config.ModuleDigest == digestOfKit(t, "result") })
	if err := h.Trigger(t.Context(), "j"); err != nil {
		t.Error(err)
	}
	if row := <-rows; row.State != trace.Succeeded {
		t.Errorf("%+v", row)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
}
