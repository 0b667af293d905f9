package operator

import (
	"path/filepath"
	"testing"

	"github.com/wasmjob/wasmjob/host/internal/layout"
	"github.com/wasmjob/wasmjob/host/internal/layout/v21"
	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/registry"
)

// tool stands for a foreign tool: a session of its own that writes directly.
type tool struct {
	t *testing.T
	s registry.Session
}

func newTool(t *testing.T, reg registry.Registry) *tool {
	t.Helper()
	s, err := reg.Open(t.Context(), func(registry.Event) {})
	if err != nil {
		t.Fatal(err)
	}
	return &tool{t, s}
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
	kind := registry.Create
	if o.read(path).Exists {
		kind = registry.Set
	}
	if _, err := o.s.Commit(o.t.Context(), registry.Op{Kind: kind, Path: path, Data: []byte(data), Version: registry.AnyVersion}); err != nil {
		o.t.Fatalf("%s: %v", path, err)
	}
}

// remove deletes a node and all nodes below it.
func (o *tool) remove(path string) {
	o.t.Helper()
	for _, c := range o.read(path).Children {
		o.remove(path + "/" + c)
	}
	_, _ = o.s.Commit(o.t.Context(), registry.Op{Kind: registry.Delete, Path: path, Version: registry.AnyVersion}) // it may have ended with its session
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
	at, second, _ := l.Nodes()
	for _, path := range []string{"/n", "/n/" + j.Name, filepath.Dir(second)} {
		if !o.read(path).Exists {
			o.set(path, "")
		}
	}
	o.set(second, spelled.Module.String())
	o.set(at, spelled.Config.String())
}
