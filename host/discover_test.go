package host

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/wasmjob/wasmjob/host/internal/definition"
	"github.com/wasmjob/wasmjob/host/internal/layout"
	"github.com/wasmjob/wasmjob/host/internal/layout/v21"
	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/reason"
	"github.com/wasmjob/wasmjob/host/registry"
	"github.com/wasmjob/wasmjob/host/registry/embedded"
	"github.com/wasmjob/wasmjob/host/registry/zk"
	"github.com/wasmjob/wasmjob/host/registry/zk/zktest"
	"github.com/wasmjob/wasmjob/host/trace"
)

// tool is an operator's tool with a session of its own.
type tool struct {
	t    *testing.T
	s    registry.Session
	news chan registry.Event
}

func newTool(t *testing.T, reg registry.Registry) *tool {
	t.Helper()
	news := make(chan registry.Event, 1000)
	s, err := reg.Open(t.Context(), func(e registry.Event) {
		select {
		case news <- e:
		default: // the waiting test reads again anyway
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return &tool{t, s, news}
}

func (o *tool) close() {
	o.t.Helper()
	if err := o.s.Close(); err != nil {
		o.t.Error(err)
	}
}

func (o *tool) read(path string) registry.Node {
	o.t.Helper()
	n, err := o.s.Read(o.t.Context(), path)
	if err != nil {
		o.t.Fatal(err)
	}
	return n
}

func (o *tool) set(path, data string) {
	o.t.Helper()
	o.commit(o.write(path, data))
}

// write returns the operation that sets a node's value.
func (o *tool) write(path, data string) registry.Op {
	o.t.Helper()
	kind := registry.Create
	if o.read(path).Exists {
		kind = registry.Set
	}
	return registry.Op{Kind: kind, Path: path, Data: []byte(data), Version: registry.AnyVersion}
}

// remove deletes a node and everything below it.
func (o *tool) remove(path string) {
	o.t.Helper()
	for _, c := range o.read(path).Children {
		o.remove(path + "/" + c)
	}
	_, _ = o.s.Commit(o.t.Context(), registry.Op{Kind: registry.Delete, Path: path, Version: registry.AnyVersion}) // its session may have removed it
}

// until waits until the status of a host's jobs satisfies is.
func until(t *testing.T, h *Host, what string, is func([]job.Status) bool) {
	t.Helper()
	again := time.NewTicker(5 * time.Millisecond) // no event reports it
	defer again.Stop()
	patience := time.NewTimer(time.Minute)
	defer patience.Stop()
	for !is(h.Jobs()) {
		select {
		case <-again.C:
		case <-patience.C:
			t.Fatalf("%s: %+v", what, h.Jobs())
		}
	}
}

func joined(name string, instances int) func([]job.Status) bool {
	return func(all []job.Status) bool {
		return slices.ContainsFunc(all, func(s job.Status) bool {
			return s.Config.Name == name && len(s.Instances) == instances && s.Instance != ""
		})
	}
}

func failing(name, text string) func([]job.Status) bool {
	return func(all []job.Status) bool {
		return slices.ContainsFunc(all, func(s job.Status) bool { return s.Config.Name == name && strings.Contains(s.Fault, text) })
	}
}

func none(all []job.Status) bool { return len(all) == 0 }

// server returns the options for one server of a cluster in this process.
func server(t *testing.T, reg registry.Registry, ip string, rows chan trace.Row) Options {
	t.Helper()
	return Options{
		Namespace: "n", Registry: reg, DataDir: t.TempDir(), Sinks: []trace.Sink{toRows(rows)},
		Instance: job.NewInstanceID(ip, "1"), Discover: true, Peers: Peers{Listen: "127.0.0.1:0"},
	}
}

// A server without any file runs the jobs that another server's file defines, with modules from
// there, as long as they are in the registry.
func TestAServerWithoutAFileRunsTheJobsOfTheRegistry(t *testing.T) {
	t.Parallel()
	t.Run("embedded", func(t *testing.T) {
		t.Parallel()
		runsWithoutAFile(t, embedded.Memory())
	})
	t.Run("zookeeper", func(t *testing.T) {
		t.Parallel()
		runsWithoutAFile(t, zookeeper(t))
	})
}

// zookeeper returns a registry on a ZooKeeper started for the test.
func zookeeper(t *testing.T) registry.Registry {
	t.Helper()
	s := zktest.Start(t, zktest.Debian(t), zktest.Options{})
	reg, err := zk.New(zk.Options{Servers: []string{s.Address()}, SessionTimeout: 30 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	return reg
}

func runsWithoutAFile(t *testing.T, reg registry.Registry) {
	t.Helper()
	rows := make(chan trace.Row, 100)
	a := server(t, reg, "10.0.0.1", rows)
	a.Modules = kit("ok", "deal")
	a.Jobs = []job.Config{{Name: "j", Module: "ok", StrategyModule: "deal", Param: "r", Shards: 4, Timeout: time.Minute}}
	first, stopFirst := start(t, a)
	<-first.Ready()

	second, stopSecond := start(t, server(t, reg, "10.0.0.2", rows))
	<-second.Ready()
	until(t, first, "both have joined", joined("j", 2))
	until(t, second, "both have joined", joined("j", 2))
	if s := second.Jobs(); len(s) != 1 || s[0].Config.Timeout != time.Minute || len(s[0].Config.ModuleDigest) != 64 || s[0].Fault != "" {
		t.Errorf("%+v", s)
	}
	until(t, first, "both have items", func(all []job.Status) bool {
		owners := map[job.InstanceID]bool{}
		for _, i := range all[0].Items {
			owners[i.Owner] = i.Owner != ""
		}
		return len(owners) == 2
	})
	if err := second.Trigger(t.Context(), "j"); err != nil {
		t.Error(err)
	}
	by := map[string]int{}
	for range 4 {
		r := <-rows
		if by[r.Instance]++; r.State != trace.Succeeded {
			t.Errorf("%+v", r)
		}
	}
	if by["10.0.0.1@-@1"] == 0 || by["10.0.0.2@-@1"] == 0 {
		t.Errorf("one server ran all: %v", by)
	}
	// The server with the file goes; the job stays in the registry.
	if err := stopFirst(); err != nil {
		t.Error(err)
	}
	until(t, second, "alone", joined("j", 1))
	if err := second.Trigger(t.Context(), "j"); err != nil {
		t.Error(err)
	}
	for range 4 {
		if r := <-rows; r.State != trace.Succeeded || r.Instance != "10.0.0.2@-@1" {
			t.Errorf("%+v", r)
		}
	}
	o := newTool(t, reg)
	defer func() {
		if err := reg.Close(); err != nil {
			t.Error(err)
		}
	}()
	// An operator's changes stay when the file comes back, except for keys that were changed in
	// the file meanwhile.
	o.change("j", func(c *v21.Config) { c.ShardingTotalCount = 3 })
	until(t, second, "another total", total("j", 3))
	a.Jobs[0].Timeout = 2 * time.Minute
	first, stopFirst = start(t, a)
	until(t, first, "both have joined", joined("j", 2))
	until(t, second, "the file's other key", func(all []job.Status) bool { return all[0].Config.Timeout == 2*time.Minute })
	if s := first.Jobs()[0]; s.Config.Shards != 3 || len(s.Troubles) > 0 {
		t.Errorf("%+v", s)
	}
	if err := stopFirst(); err != nil {
		t.Error(err)
	}
	// If file and registry have both changed a key, the registry wins and the key is logged.
	a.Jobs[0].Shards = 5
	first, stopFirst = start(t, a)
	until(t, first, "a dispute", func(all []job.Status) bool {
		return len(all[0].Troubles) == 1 && strings.Contains(all[0].Troubles[0].String(), "shardingTotalCount") && all[0].Config.Shards == 3
	})
	o.change("j", func(c *v21.Config) { c.ShardingTotalCount = 5 })
	until(t, first, "no dispute", func(all []job.Status) bool { return len(all[0].Troubles) == 0 && all[0].Config.Shards == 5 })
	if err := stopFirst(); err != nil {
		t.Error(err)
	}
	o.remove("/n/j")
	until(t, second, "the job is gone", none)
	if n := o.read("/n/j"); n.Exists {
		t.Errorf("it was brought back: %+v", n)
	}
	o.close()
	if err := stopSecond(); err != nil {
		t.Error(err)
	}
}

func total(name string, shards int) func([]job.Status) bool {
	return func(all []job.Status) bool {
		return slices.ContainsFunc(all, func(s job.Status) bool { return s.Config.Name == name && s.Config.Shards == shards })
	}
}

// change rewrites a job's configuration.
func (o *tool) change(name string, change func(*v21.Config)) {
	o.t.Helper()
	at, _, _ := layout.NewJob("n", name).Nodes()
	n := o.read(at)
	c, err := v21.DecodeConfig(n.Data)
	if err != nil {
		o.t.Fatal(err)
	}
	change(c)
	data, err := v21.UpdateConfig(n.Data, c)
	if err != nil {
		o.t.Fatal(err)
	}
	o.set(at, string(data))
}

// define puts a job into the registry, as a tool would.
func (o *tool) define(j job.Config) {
	o.t.Helper()
	l := layout.NewJob("n", j.Name)
	spelled, err := l.Spell(protocol.Definition{}, l.Define(j))
	if err != nil {
		o.t.Fatal(err)
	}
	at, modulePath, _ := l.Nodes()
	for _, path := range []string{"/n", "/n/" + j.Name, filepath.Dir(modulePath)} {
		if !o.read(path).Exists {
			o.set(path, "")
		}
	}
	// in one transaction: a mix of old and new nodes might run
	o.commit(o.write(modulePath, spelled.Module.String()), o.write(at, spelled.Config.String()))
}

func digestOfKit(t *testing.T, name string) string {
	t.Helper()
	wasm, err := os.ReadFile(kit(name)[name].Path)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(wasm)
	return hex.EncodeToString(sum[:])
}

// A server does not join a job that it may not or cannot run. It says why, and tries again when
// something changes.
func TestAServerDoesNotJoinWhatItMayNotRun(t *testing.T) {
	t.Parallel()
	reg, rows := embedded.Memory(), make(chan trace.Row, 100)
	h, stop := start(t, func() Options {
		o := server(t, reg, "10.0.0.1", rows)
		o.Modules, o.Allow = kit("ok"), GrantLimits{Random: true, Secrets: []string{"known", "unknown"}}
		o.Secrets = map[string]string{"known": "1"}
		return o
	}())
	<-h.Ready()
	o := newTool(t, reg)
	fine := job.Config{
		Name: "j", Kind: job.Simple, Shards: 1, Module: "m", ModuleDigest: digestOfKit(t, "ok"), Layout: job.Layout21,
		Overlap: job.Skip, OnRegistryLoss: job.CancelOnLoss, MaxClockSkew: -1,
	}
	for _, tt := range []struct {
		change func(*job.Config)
		want   string
	}{
		{func(c *job.Config) { c.Allow.State = true }, "state is more than [host.allow] gives"},
		{func(c *job.Config) { c.Allow.Dirs = []job.Dir{{Host: "/etc", Guest: "/etc"}} }, "the directory /etc is more than"},
		{func(c *job.Config) { c.Allow.Secrets = []string{"unknown"} }, `there is no secret "unknown"`},
		{func(c *job.Config) { c.Kind, c.Command, c.Module = job.Script, "/bin/true", "" }, "has no digest of its module"},
		{func(c *job.Config) { c.ModuleDigest = strings.Repeat("0", 64) }, "no server of the job offers it: push it"},
		{func(c *job.Config) { c.Kind = job.Dataflow }, "is of the kinds [simple], not dataflow"},
		{func(c *job.Config) { c.Cron = "every day" }, "cron: "},
		{func(c *job.Config) { c.Strategy = "best" }, "strategy: "},
		{func(c *job.Config) { c.TimeZone = "Mars/North"; c.Cron = "0 0 2 * * ?" }, "Mars/North"},
	} {
		c := fine
		tt.change(&c)
		o.define(c)
		until(t, h, tt.want, failing("j", tt.want))
		if n := o.read(filepath.Dir(layout.NewJob("n", "j").Instance("x"))); n.Exists {
			t.Errorf("%s: it has set the job up", tt.want)
		}
	}
	_, modulePath, _ := layout.NewJob("n", "j").Nodes()
	o.set(modulePath, "kind: simple")
	until(t, h, "damaged", failing("j", modulePath+": expected a module"))
	if err := h.Trigger(t.Context(), "j"); err == nil {
		t.Error("a job that does not run was triggered")
	}
	fine.Allow.Random, fine.Allow.Secrets = true, []string{"known"}
	o.define(fine)
	until(t, h, "mended", joined("j", 1))
	if err := h.Trigger(t.Context(), "j"); err != nil {
		t.Error(err)
	}
	if r := <-rows; r.State != trace.Succeeded {
		t.Errorf("%+v", r)
	}
	// A running job is changed beyond what this server allows.
	beyond := fine
	beyond.Allow.State = true
	o.define(beyond)
	until(t, h, "withdrawn", failing("j", "state is more than"))
	if n := o.read(filepath.Dir(layout.NewJob("n", "j").Instance("x"))); len(n.Children) != 0 {
		t.Errorf("it has not left: %v", n.Children)
	}
	o.define(fine)
	until(t, h, "back", joined("j", 1))
	// A job that is ElasticJob's alone is not ours.
	o.set("/n/java", "")
	o.set("/n/java/config", `{"jobName":"java"}`)
	if all := h.Jobs(); len(all) != 1 {
		t.Errorf("%+v", all)
	}
	o.close()
	if err := stop(); err != nil {
		t.Error(err)
	}
	if err := reg.Close(); err != nil {
		t.Error(err)
	}
}

// A module that no server offers yet is loaded as soon as a server does.
func TestAModuleComesWithANewPeer(t *testing.T) {
	t.Parallel()
	reg, rows := embedded.Memory(), make(chan trace.Row, 100)
	o := newTool(t, reg)
	o.define(job.Config{
		Name: "j", Kind: job.Simple, Shards: 2, Module: "m", ModuleDigest: digestOfKit(t, "ok"), Layout: job.Layout21,
		Overlap: job.Skip, OnRegistryLoss: job.CancelOnLoss, MaxClockSkew: -1,
	})
	poor, stopPoor := start(t, server(t, reg, "10.0.0.1", rows))
	<-poor.Ready()
	until(t, poor, "nobody has it", failing("j", "no server of the job offers it: push it"))
	rich := server(t, reg, "10.0.0.2", rows)
	rich.Modules = kit("ok")
	other, stopRich := start(t, rich)
	until(t, other, "both have joined", joined("j", 2))
	until(t, poor, "both have joined", joined("j", 2))
	if entries, err := filepath.Glob(filepath.Join(poor.o.DataDir, "modules", "*.wasm")); err != nil || len(entries) != 1 {
		t.Errorf("%v, %v", entries, err)
	}
	o.close()
	for _, stop := range []func() error{stopPoor, stopRich} {
		if err := stop(); err != nil {
			t.Error(err)
		}
	}
	if err := reg.Close(); err != nil {
		t.Error(err)
	}
}

// Servers serve only modules that a job holds.
func TestOnlyModulesOfJobsAreOffered(t *testing.T) {
	t.Parallel()
	rows := make(chan trace.Row, 100)
	reg := embedded.Memory()
	o := server(t, reg, "10.0.0.1", rows)
	o.Modules, o.Discover = kit("ok", "deal"), false
	o.Jobs = []job.Config{{Name: "j", Module: "ok", Shards: 1}}
	h, stop := start(t, o)
	<-h.Ready()
	if h.store.Digest(t.Context(), "deal") == "" {
		t.Fatal("it is not in the store")
	}
	transport := &http.Transport{}
	for name, want := range map[string]int{"ok": http.StatusOK, "deal": http.StatusNotFound} {
		r, err := http.NewRequestWithContext(context.WithoutCancel(t.Context()), http.MethodGet, "http://"+h.store.Address()+"/modules/"+digestOfKit(t, name), http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := transport.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		if err := answer.Body.Close(); err != nil || answer.StatusCode != want {
			t.Errorf("%s: %d, %v", name, answer.StatusCode, err)
		}
	}
	transport.CloseIdleConnections()
	if err := stop(); err != nil {
		t.Error(err)
	}
	if err := reg.Close(); err != nil {
		t.Error(err)
	}
}

// A new module replaces the old one when every server has it; runs keep the module that they
// began with.
func TestAModuleIsSwappedUnderRuns(t *testing.T) {
	t.Parallel()
	t.Run("embedded", func(t *testing.T) {
		t.Parallel()
		swapsUnderRuns(t, embedded.Memory())
	})
	t.Run("zookeeper", func(t *testing.T) {
		t.Parallel()
		swapsUnderRuns(t, zookeeper(t))
	})
}

func swapsUnderRuns(t *testing.T, reg registry.Registry) {
	t.Helper()
	rows := make(chan trace.Row, 100)
	starts := make(chan struct{}, 100)
	observe := func(e Event) {
		if e.Kind == EventStart {
			starts <- struct{}{}
		}
	}
	a, b := server(t, reg, "10.0.0.1", rows), server(t, reg, "10.0.0.2", rows)
	a.Observe, b.Observe = observe, observe
	a.Modules = kit("loop", "ok", "deal")
	a.Jobs = []job.Config{{Name: "j", Module: "loop", Shards: 2, Timeout: 4 * time.Second}}
	first, stopFirst := start(t, a)
	<-first.Ready()
	second, stopSecond := start(t, b)
	<-second.Ready()
	until(t, first, "both have items", func(all []job.Status) bool {
		i := all[0].Items
		return len(i) == 2 && i[0].Owner != "" && i[1].Owner != "" && i[0].Owner != i[1].Owner
	})
	if err := first.Trigger(t.Context(), "j"); err != nil {
		t.Fatal(err)
	}
	<-starts
	<-starts

	o := newTool(t, reg)
	_, modulePath, _ := layout.NewJob("n", "j").Nodes()
	swap := func(name, digest string) {
		m, err := definition.DecodeModule(o.read(modulePath).Data)
		if err != nil {
			t.Fatal(err)
		}
		m.Next = &definition.Code{Name: name, Digest: digest}
		data, err := definition.EncodeModule(m)
		if err != nil {
			t.Fatal(err)
		}
		o.set(modulePath, string(data))
	}
	runs := func(digest string) func([]job.Status) bool {
		return func(all []job.Status) bool { return all[0].Config.ModuleDigest == digest && len(all[0].Troubles) == 0 }
	}
	old, next := digestOfKit(t, "loop"), digestOfKit(t, "ok")
	swap("ok", next)
	until(t, first, "switched", runs(next))
	until(t, second, "switched", runs(next))
	for range 2 {
		if r := <-rows; r.State != trace.TimedOut || r.Digest != old {
			t.Errorf("%+v", r)
		}
	}
	if err := second.Trigger(t.Context(), "j"); err != nil {
		t.Error(err)
	}
	for range 2 {
		if r := <-rows; r.State != trace.Succeeded || r.Digest != next {
			t.Errorf("%+v", r)
		}
	}
	// No server has the next module: this is reported, and nothing changes.
	swap("none", strings.Repeat("0", 64))
	waits := func(all []job.Status) bool {
		return len(all[0].Troubles) == 1 && strings.Contains(all[0].Troubles[0].String(), "10.0.0.1@-@1 (") &&
			strings.Contains(all[0].Troubles[0].String(), "10.0.0.2@-@1 (") && all[0].Config.ModuleDigest == next
	}
	until(t, first, "nobody has it", waits)
	until(t, second, "nobody has it", waits)
	// A module of the wrong kind counts as missing.
	swap("deal", digestOfKit(t, "deal"))
	until(t, first, "it is a strategy", func(all []job.Status) bool {
		return len(all[0].Troubles) == 1 && strings.Contains(all[0].Troubles[0].String(), "is of the kinds [strategy], not simple") && all[0].Config.ModuleDigest == next
	})
	o.close()
	for _, stop := range []func() error{stopFirst, stopSecond} {
		if err := stop(); err != nil {
			t.Error(err)
		}
	}
	// When the file names another module, servers get it in the same way.
	a.Modules["loop"] = Module{Path: kit("result")["result"].Path}
	again, stopAgain := start(t, a)
	until(t, again, "the operator's and the file's", func(all []job.Status) bool {
		return len(all[0].Troubles) > 0 && strings.Contains(reason.Words(all[0].Troubles, " "), "module: the registry has ")
	})
	if err := stopAgain(); err != nil {
		t.Error(err)
	}
	if err := reg.Close(); err != nil {
		t.Error(err)
	}
}

// If the file pins the digest of a module whose file is missing, the module comes from another
// server.
func TestAPinnedModuleComesFromAPeer(t *testing.T) {
	t.Parallel()
	reg, rows := embedded.Memory(), make(chan trace.Row, 100)
	jobs := []job.Config{{Name: "j", Module: "ok", Shards: 2}}
	a, b := server(t, reg, "10.0.0.1", rows), server(t, reg, "10.0.0.2", rows)
	a.Discover, b.Discover = false, true // with Discover, a server goes on even if none of its own jobs can run
	a.Jobs, b.Jobs = jobs, jobs
	a.Modules = kit("ok")
	b.Modules = map[string]Module{"ok": {Path: filepath.Join(t.TempDir(), "gone.wasm"), SHA256: digestOfKit(t, "ok")}}
	first, stopFirst := start(t, a)
	<-first.Ready()
	second, stopSecond := start(t, b)
	until(t, second, "it is there", func(all []job.Status) bool {
		return all[0].Fault == "" && len(all[0].Instances) == 2
	})
	for _, stop := range []func() error{stopFirst, stopSecond} {
		if err := stop(); err != nil {
			t.Error(err)
		}
	}
	if err := reg.Close(); err != nil {
		t.Error(err)
	}
}
