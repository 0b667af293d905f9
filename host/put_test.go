package host

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/registry/embedded"
	"github.com/wasmjob/wasmjob/host/trace"
)

// toMinute returns the time until one second after the next whole minute.
func toMinute() time.Duration {
	return time.Until(time.Now().Truncate(time.Minute).Add(61 * time.Second))
}

func TestPut(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		rows := &pile{}
		h, stop := start(t, Options{Jobs: []job.Config{minutely("a", 1)}, Runner: Func(lasting), Sinks: []trace.Sink{rows}})
		if err := h.Put(t.Context(), job.Config{Name: "b", Shards: 2}); err != nil {
			t.Error(err)
		}
		if err := h.Trigger(t.Context(), "b"); err != nil {
			t.Errorf("trigger right after Put: %v", err)
		}
		time.Sleep(toMinute()) // a is running
		for range 2 {
			if err := h.Put(t.Context(), minutely("a", 3)); err != nil {
				t.Error(err)
			}
		}
		time.Sleep(time.Minute + 10*time.Second)
		if d := cmp.Diff(map[string]int{"a": 3, "b": 2}, shards(h)); d != "" {
			t.Error(d)
		}
		if a, b := rows.count("a", trace.Succeeded), rows.count("b", trace.Succeeded); a != 1+3 || b != 2 {
			t.Errorf("%d runs of a and %d of b succeeded, not 1 + 3 and 2", a, b)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

func TestPutIsRefused(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h, stop := start(t, Options{Jobs: []job.Config{minutely("a", 1)}, Runner: Func(fine)})
		<-h.Ready()
		bad := minutely("a", 0)
		bad.Cron, bad.Allow.Secrets = "never", []string{"token"}
		err := h.Put(t.Context(), bad)
		wantCode(t, "a bad job", err, Invalid)
		for _, text := range []string{"put job a: ", "cron", "shards", `there is no secret "token"`} {
			if err == nil || !strings.Contains(err.Error(), text) {
				t.Errorf("%v, which does not say %q", err, text)
			}
		}
		wantCode(t, "a module for Go jobs", h.PutModule(t.Context(), "m", Module{Path: "m.wasm"}), Invalid)
		wantCode(t, "no module", h.RemoveModule(t.Context(), "m"), NotFound)
		gone := expired(t)
		wantCode(t, "a caller who is gone", h.Put(gone, minutely("a", 7)), Unavailable)
		synctest.Wait()
		if d := cmp.Diff(map[string]int{"a": 1}, shards(h)); d != "" {
			t.Error(d)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
		wantCode(t, "a host that has ended", h.Put(t.Context(), minutely("b", 1)), Unavailable)
		idle, err := New(Options{Runner: Func(fine)})
		if err != nil {
			t.Fatal(err)
		}
		wantCode(t, "a host that does not run yet", idle.Put(gone, minutely("b", 1)), Unavailable)
		if err := idle.Run(gone); err != nil {
			t.Error(err)
		}
		wantCode(t, "a host that ended at once", idle.Put(t.Context(), minutely("b", 1)), Unavailable)
	})
}

// Remove returns when the runs have ended and their rows are stored. Put of the same name
// returns when the removed job has left.
func TestRemoveDrains(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		rows := &pile{}
		h, stop := start(t, Options{Jobs: []job.Config{minutely("a", 2), minutely("b", 1)}, Runner: Func(lasting), Sinks: []trace.Sink{rows}})
		<-h.Ready()
		wantCode(t, "a job that is not there", h.Remove(t.Context(), "c"), NotFound)
		time.Sleep(toMinute()) // both are running
		short, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		wantCode(t, "a job that still runs", h.Remove(short, "a"), Unknown)
		wantCode(t, "a job that leaves", h.Remove(t.Context(), "a"), NotFound)
		wantCode(t, "trigger of a job that leaves", h.Trigger(t.Context(), "a"), NotFound)
		if err := h.Remove(t.Context(), "b"); err != nil {
			t.Error(err)
		}
		if n, there := rows.count("b", trace.Succeeded), shards(h); n != 1 || there["b"] != 0 {
			t.Errorf("as Remove returned %d runs had succeeded, and these jobs were there: %v", n, there)
		}
		synctest.Wait()
		if n := rows.count("a", trace.Succeeded); n != 2 || len(h.Jobs()) != 0 {
			t.Errorf("of the job that nobody waited for %d runs succeeded, and these jobs are there: %v", n, shards(h))
		}
		if err := h.Put(t.Context(), minutely("a", 1)); err != nil {
			t.Error(err)
		}
		time.Sleep(toMinute()) // it is running
		late, cancelLate := context.WithTimeout(t.Context(), time.Second)
		defer cancelLate()
		wantCode(t, "a job that still runs", h.Remove(late, "a"), Unknown)
		if err := h.Put(t.Context(), minutely("a", 2)); err != nil {
			t.Error(err)
		}
		if n := rows.count("a", trace.Succeeded); n != 2+1 {
			t.Errorf("the next job of that name began when %d runs had succeeded, not 3", n)
		}
		synctest.Wait()
		if d := cmp.Diff(map[string]int{"a": 2}, shards(h)); d != "" {
			t.Error(d)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

// expired returns a context that has ended.
func expired(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}

// Put makes a job of the registry the host's own, and Remove makes it a job of the
// registry again. Remove refuses a job that is not the host's own.
func TestPutAndRemoveAJobOfTheRegistry(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reg := embedded.Memory()
		o := Options{Registry: reg, Instance: "10.0.0.1@-@1", Runner: Func(lasting), Discover: true}
		h, stop := start(t, o)
		o.Instance, o.Jobs = "10.0.0.2@-@1", []job.Config{minutely("a", 2)}
		other, stopOther := start(t, o)
		<-other.Ready()
		<-h.Ready()
		synctest.Wait()
		wantCode(t, "a job of the registry", h.Remove(t.Context(), "a"), Refused)
		if err := h.Put(t.Context(), minutely("a", 3)); err != nil {
			t.Error(err)
		}
		synctest.Wait()
		if d := cmp.Diff(map[string]int{"a": 3}, shards(h)); d != "" {
			t.Error(d)
		}
		if err := h.Remove(t.Context(), "a"); err != nil {
			t.Error(err)
		}
		synctest.Wait()
		if d := cmp.Diff(map[string]int{"a": 3}, shards(h)); d != "" {
			t.Errorf("the job was not found again: %s", d)
		}
		wantCode(t, "a job that was found again", h.Remove(t.Context(), "a"), Refused)
		for _, end := range []func() error{stop, stopOther, reg.Close} {
			if err := end(); err != nil {
				t.Error(err)
			}
		}
	})
}

// Put and Remove may be called concurrently.
func TestPutAndRemoveAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h, stop := start(t, Options{Runner: Func(fine)})
		var all sync.WaitGroup
		for n := range 8 {
			all.Go(func() {
				own := fmt.Sprintf("own%d", n)
				for k := range 5 {
					if err := h.Put(t.Context(), minutely(own, k+1)); err != nil {
						t.Error(err)
					}
					if err := h.Put(t.Context(), minutely("shared", n+1)); err != nil {
						t.Error(err)
					}
					if err := h.Remove(t.Context(), "shared"); err != nil { // another goroutine was first
						wantCode(t, "remove", err, NotFound)
					}
				}
			})
		}
		all.Wait()
		if err := h.Put(t.Context(), minutely("shared", 9)); err != nil {
			t.Error(err)
		}
		synctest.Wait()
		want := map[string]int{"shared": 9}
		for n := range 8 {
			want[fmt.Sprintf("own%d", n)] = 5
		}
		if d := cmp.Diff(want, shards(h)); d != "" {
			t.Error(d)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

// Run waits for the current edit and refuses later ones.
func TestPutWhileTheHostStops(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h, stop := start(t, Options{Jobs: []job.Config{minutely("a", 1)}, Runner: Func(lasting)})
		<-h.Ready()
		time.Sleep(toMinute())
		removed := make(chan error, 1)
		go func() { removed <- h.Remove(t.Context(), "a") }() // waits for the run
		synctest.Wait()
		h.editing <- struct{}{} // an edit is in progress
		put, stopped := make(chan error, 1), make(chan error, 1)
		go func() { put <- h.Put(t.Context(), minutely("b", 1)) }()
		go func() { stopped <- stop() }()
		time.Sleep(time.Minute)
		select {
		case err := <-stopped:
			t.Errorf("Run did not wait: %v", err)
		default:
		}
		<-h.editing
		if err := <-stopped; err != nil {
			t.Error(err)
		}
		wantCode(t, "put", <-put, Unavailable)
		if err := <-removed; err != nil {
			t.Errorf("the job runs no more, but: %v", err)
		}
	})
}

func TestPutModule(t *testing.T) {
	t.Parallel()
	rows := make(chan trace.Row, 100)
	o := server(t, nil, "10.0.0.1", rows)
	o.Modules, o.Discover = kit("ok", "deal"), false
	o.Jobs = []job.Config{{Name: "j", Module: "ok", Shards: 1}, {Name: "deals", Module: "ok", StrategyModule: "deal", Shards: 1}}
	h, stop := start(t, o)
	<-h.Ready()
	put := func(name, file string) error { return h.PutModule(t.Context(), name, kit(file)[file]) }
	runs := func(name, file string) {
		t.Helper()
		until(t, h, name+" with "+file, func(all []job.Status) bool {
			for _, s := range all {
				if s.Config.Name == name {
					return s.Instance != "" && s.Config.ModuleDigest == digestOfKit(t, file)
				}
			}
			return false
		})
		if err := h.Trigger(t.Context(), name); err != nil {
			t.Error(err)
		}
		if row := <-rows; row.State != trace.Succeeded || row.Job != name {
			t.Errorf("%+v", row)
		}
	}
	for _, bad := range []struct{ name, file, says string }{
		{"ok", "import", "import"}, {"ok", "deal", "job j: module ok is of the kinds"}, {"new", "import", "import"}, {"deal", "ok", "job deals: module deal is of the kinds"},
	} {
		err := put(bad.name, bad.file)
		if wantCode(t, bad.file, err, Invalid); err != nil && !strings.Contains(err.Error(), bad.says) {
			t.Errorf("%s as %s: %v, which does not say %q", bad.file, bad.name, err, bad.says)
		}
	}
	wantCode(t, "no file", h.PutModule(t.Context(), "ok", Module{Path: filepath.Join(t.TempDir(), "none")}), Invalid)
	runs("j", "ok")
	if err := put("ok", "result"); err != nil {
		t.Error(err)
	}
	runs("j", "result")
	runs("deals", "result")
	wantCode(t, "a job of a module that is not there", h.Put(t.Context(), job.Config{Name: "k", Module: "new", Shards: 1}), Invalid)
	if err := put("new", "ok"); err != nil {
		t.Error(err)
	}
	if err := h.Put(t.Context(), job.Config{Name: "k", Module: "new", Shards: 1}); err != nil {
		t.Error(err)
	}
	runs("k", "ok")
	wantCode(t, "a module that a job names", h.RemoveModule(t.Context(), "new"), Refused)
	if err := h.Remove(t.Context(), "k"); err != nil {
		t.Error(err)
	}
	if err := h.RemoveModule(t.Context(), "new"); err != nil {
		t.Error(err)
	}
	wantCode(t, "a module that was removed", h.RemoveModule(t.Context(), "new"), NotFound)
	if err := stop(); err != nil {
		t.Error(err)
	}
}

// Only PutModule reads the file of a module again. A job that is put uses the module that
// the others run.
func TestPutModuleReadsTheFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "job.wasm")
	write := func(file string) {
		text, err := os.ReadFile(kit(file)[file].Path)
		if err == nil {
			err = os.WriteFile(path, text, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	write("ok")
	o := server(t, nil, "10.0.0.1", make(chan trace.Row, 100))
	o.Modules, o.Discover = map[string]Module{"m": {Path: path}}, false
	o.Jobs = []job.Config{{Name: "a", Module: "m", Shards: 1}}
	h, stop := start(t, o)
	<-h.Ready()
	write("result")
	both := func(file string) func([]job.Status) bool {
		return func(all []job.Status) bool {
			return len(all) == 2 && all[0].Config.ModuleDigest == digestOfKit(t, file) && all[1].Config.ModuleDigest == all[0].Config.ModuleDigest
		}
	}
	if err := h.Put(t.Context(), job.Config{Name: "b", Module: "m", Shards: 1}); err != nil {
		t.Error(err)
	}
	until(t, h, "both as it was", both("ok"))
	if err := h.PutModule(t.Context(), "m", o.Modules["m"]); err != nil {
		t.Error(err)
	}
	until(t, h, "both as it is", both("result"))
	if err := stop(); err != nil {
		t.Error(err)
	}
}
