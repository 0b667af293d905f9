package host

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/registry/embedded"
	"github.com/wasmjob/wasmjob/host/trace"
)

// pile is a Sink in memory.
type pile struct {
	mu   sync.Mutex
	rows []trace.Row
}

func (p *pile) Write(_ context.Context, batch []trace.Row) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rows = append(p.rows, batch...)
	return nil
}

func (p *pile) count(name string, s trace.State) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := 0
	for _, r := range p.rows {
		if r.Job == name && r.State == s {
			n++
		}
	}
	return n
}

func fine(_ context.Context, c job.Call) job.Outcome {
	return job.Outcome{Verdict: job.OK, Result: []byte(c.ItemParam)}
}

// start runs a host until the returned function is called, which returns the error of Run.
func start(t *testing.T, o Options) (h *Host, stop func() error) {
	t.Helper()
	o.Log = slog.New(slog.NewTextHandler(t.Output(), nil))
	h, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- h.Run(ctx) }()
	return h, func() error {
		cancel()
		return <-done
	}
}

func wantCode(t *testing.T, what string, err error, code Code) {
	t.Helper()
	var e *Error
	if !errors.As(err, &e) || e.Code != code {
		t.Errorf("%s: error %v, want code %s", what, err, code)
	}
}

func TestCronFiresWithTheRealTicker(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		rows := &pile{}
		h, stop := start(t, Options{
			Jobs: []job.Config{
				{Name: "minutely", Cron: "0 * * * * ?", Shards: 3},
				{Name: "manual", Shards: 1},
			},
			Runner: Func(fine), Sinks: []trace.Sink{rows}, Workers: 2,
		})
		<-h.Ready()
		time.Sleep(5*time.Minute + 30*time.Second)
		if got := rows.count("minutely", trace.Succeeded); got != 15 {
			t.Errorf("%d rows, want 15", got)
		}
		if err := h.Trigger(t.Context(), "manual"); err != nil {
			t.Error(err)
		}
		time.Sleep(time.Second)
		if got := rows.count("manual", trace.Succeeded); got != 1 {
			t.Errorf("%d rows of the manual job, want 1", got)
		}
		s := h.Jobs()[0]
		if s.Fault != "" || s.Leader == "" || s.Leader != s.Instance || len(s.Items) != 3 || time.Until(s.Next) != 29*time.Second {
			t.Errorf("status %+v", s)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

func TestOperators(t *testing.T) {
	t.Parallel()
	for _, layout := range []string{job.Layout21, job.Layout3} {
		t.Run("layout "+layout, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				rows := &pile{}
				h, stop := start(t, Options{
					Instance: "10.0.0.1@-@a", Jobs: []job.Config{{Name: "j", Layout: layout, Cron: "0 * * * * ?", Shards: 2}},
					Runner: Func(fine), Sinks: []trace.Sink{rows},
				})
				<-h.Ready()
				ctx := t.Context()
				steps := []struct {
					what string
					do   func() error
					runs int // in the minute after the request
				}{
					{"pause", func() error { return h.Pause(ctx, "j") }, 0},
					{"resume", func() error { return h.Resume(ctx, "j") }, 2},
					{"disable an item", func() error { return h.DisableItem(ctx, "j", 1) }, 1},
					{"enable it", func() error { return h.EnableItem(ctx, "j", 1) }, 2},
					{"disable the server", func() error { return h.DisableServer(ctx, "j", "10.0.0.1") }, 0},
					{"enable it", func() error { return h.EnableServer(ctx, "j", "10.0.0.1") }, 2},
					{"reshard", func() error { return h.Reshard(ctx, "j") }, 2},
				}
				time.Sleep(30 * time.Second)
				for _, s := range steps {
					before := rows.count("j", trace.Succeeded)
					if err := s.do(); err != nil {
						t.Errorf("%s: %v", s.what, err)
					}
					time.Sleep(time.Minute)
					if got := rows.count("j", trace.Succeeded) - before; got != s.runs {
						t.Errorf("%s: %d runs, want %d", s.what, got, s.runs)
					}
				}
				for _, c := range []struct {
					err  error
					code Code
				}{
					{h.Trigger(ctx, "nobody"), NotFound},
					{h.DisableItem(ctx, "j", 9), Refused},
					{h.DisableServer(ctx, "j", "10.9.9.9"), Refused},
				} {
					var e *Error
					if !errors.As(c.err, &e) || e.Code != c.code {
						t.Errorf("error %v, want code %s", c.err, c.code)
					}
				}
				if err := stop(); err != nil {
					t.Error(err)
				}
				var e *Error
				if err := h.Trigger(ctx, "j"); !errors.As(err, &e) || e.Code != Unavailable {
					t.Errorf("trigger after the end: %v", err)
				}
				if err := h.Run(ctx); err == nil {
					t.Error("it ran twice")
				}
			})
		})
	}
}

// smallest is a module whose entry returns 0 at once.
const smallest = "0061736d010000000108026000006000017f03030200010503010001072d030e7761736d6a6f625f6162695f763100000f7761736d6a6f625f657865637574650001066d656d6f727902000a0d020401007f0b0601047f41000b"

func TestModulesThatAreRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	wasm, err := hex.DecodeString(smallest)
	if err != nil {
		t.Fatal(err)
	}
	write := func(name string, b []byte) Module {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		return Module{Path: path}
	}
	pinned := write("pinned.wasm", wasm)
	pinned.SHA256 = strings.Repeat("0", 64)
	modules := map[string]Module{
		"good": write("good.wasm", wasm), "text": write("text.wasm", []byte("(module)")), "cut": write("cut.wasm", wasm[:40]),
		"gone": {Path: filepath.Join(dir, "gone.wasm")}, "pinned": pinned,
	}
	o := Options{DataDir: filepath.Join(dir, "data"), Modules: modules, Sinks: []trace.Sink{&pile{}}}
	for name := range modules {
		o.Jobs = append(o.Jobs, job.Config{Name: name, Module: name, Shards: 1})
	}
	h, stop := start(t, o)
	<-h.Ready()
	for _, s := range h.Jobs() {
		if (s.Fault == "") != (s.Config.Name == "good") {
			t.Errorf("job %s: fault %q", s.Config.Name, s.Fault)
		}
	}
	var e *Error
	if err := h.Trigger(t.Context(), "text"); !errors.As(err, &e) || e.Code != Refused {
		t.Errorf("trigger of a refused job: %v", err)
	}
	if err := h.Trigger(t.Context(), "good"); err != nil {
		t.Error(err)
	}

	second, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	if err := second.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "in use") {
		t.Errorf("a second host on the directory: %v", err)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}

	o.Jobs = slices.DeleteFunc(o.Jobs, func(c job.Config) bool { return c.Name == "good" })
	h, err = New(o)
	if err != nil {
		t.Fatal(err)
	}
	if err := h.Run(t.Context()); !errors.As(err, &e) || e.Code != Invalid {
		t.Errorf("only bad modules: %v", err)
	}
}

func TestAStopBeforeTheModulesAreThereIsNoFault(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var said strings.Builder
	h, err := New(Options{
		DataDir: filepath.Join(dir, "data"), Modules: map[string]Module{"m": {Path: filepath.Join(dir, "gone.wasm")}},
		Jobs: []job.Config{{Name: "j", Module: "m", Shards: 1}}, Log: slog.New(slog.NewTextHandler(&said, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := h.Run(ctx); err != nil || strings.Contains(said.String(), "refused") {
		t.Errorf("%v\n%s", err, &said)
	}
}

func TestAFullDiskIsNoWrongModule(t *testing.T) {
	t.Parallel()
	wrap := func(err error) error {
		return fmt.Errorf("module m: %w", &fs.PathError{Op: "write", Path: "/data/x", Err: err})
	}
	for _, c := range []struct {
		err  error
		want bool
	}{
		{wrap(syscall.ENOSPC), true},
		{errors.Join(wrap(syscall.EIO), errors.New("not a Wasm binary")), true},
		{&os.LinkError{Op: "rename", Err: syscall.ENOSPC}, true},
		{wrap(syscall.ENOENT), false},
		{wrap(syscall.EACCES), false},
		{errors.New("not a Wasm binary"), false},
	} {
		if got := isSystemError(c.err); got != c.want {
			t.Errorf("%v: %v", c.err, got)
		}
	}
}

func TestJumpsOfTheClock(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ shown, passed, want time.Duration }{
		{time.Second, time.Second, 0},
		{time.Second + maxSlew - time.Millisecond, time.Second, 0},
		{time.Hour + time.Second, time.Second, time.Hour},
		{time.Second - time.Hour, time.Second, -time.Hour},
		{90 * time.Second, 90 * time.Second, 0}, // a busy process
	} {
		if got := jump(c.shown, c.passed); got != c.want {
			t.Errorf("%s shown, %s passed: %s, want %s", c.shown, c.passed, got, c.want)
		}
	}
}

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	good := job.Config{Name: "j", Shards: 1}
	with := func(change func(*job.Config)) []job.Config {
		c := good
		change(&c)
		return []job.Config{c}
	}
	for _, c := range []struct {
		says string
		o    Options
	}{
		{"twice", Options{Jobs: []job.Config{good, good}}},
		{"cron", Options{Jobs: with(func(c *job.Config) { c.Cron = "every day" })}},
		{"never fires", Options{Jobs: with(func(c *job.Config) { c.Cron = "0 0 0 30 2 ?" })}},
		{"strategy", Options{Jobs: with(func(c *job.Config) { c.Strategy = "luck" })}},
		{"shards", Options{Jobs: with(func(c *job.Config) { c.Shards = 0 })}},
		{"instance", Options{Instance: "me"}},
		{"workers", Options{Workers: -1}},
		{"less than 0; set NoDrain", Options{DrainTimeout: -1}},
		{"NoDrain as well", Options{DrainTimeout: time.Second, NoDrain: true}},
	} {
		c.o.Runner = Func(fine)
		var e *Error
		if _, err := New(c.o); !errors.As(err, &e) || e.Code != Invalid || !strings.Contains(err.Error(), c.says) {
			t.Errorf("want a word about %s, got %v", c.says, err)
		}
	}
	if _, err := New(Options{Jobs: []job.Config{good}}); err == nil || !strings.Contains(err.Error(), "no module") || !strings.Contains(err.Error(), "data directory") {
		t.Errorf("a sandbox without module and directory: %v", err)
	}
}

func TestRegistryOfTheCallerStaysOpen(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reg := embedded.Memory()
		h, stop := start(t, Options{Registry: reg, Jobs: []job.Config{{Name: "j", Shards: 1}}, Runner: Func(fine)})
		<-h.Ready()
		if err := stop(); err != nil {
			t.Error(err)
		}
		if s, err := reg.Open(t.Context(), nil); err != nil {
			t.Error(err)
		} else if err := errors.Join(s.Close(), reg.Close()); err != nil {
			t.Error(err)
		}
	})
}
