package host

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wasmjob/wasmjob/host/internal/layout"
	"github.com/wasmjob/wasmjob/host/internal/layout/spelling"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/reason"
	"github.com/wasmjob/wasmjob/host/registry"
	"github.com/wasmjob/wasmjob/host/registry/embedded"
	"github.com/wasmjob/wasmjob/host/trace"
)

// kit returns modules of the conformance kit.
func kit(names ...string) map[string]Module {
	modules := map[string]Module{}
	for _, name := range names {
		modules[name] = Module{Path: filepath.Join("..", "abi", "conformance", "wat", name+".wasm")}
	}
	return modules
}

// A module assigns the items of a job, and the failure of another module is reported.
func TestModulesAssign(t *testing.T) {
	t.Parallel()
	rows := make(toRows, 10)
	events := make(chan Event, 100)
	h, stop := start(t, Options{
		DataDir: t.TempDir(), Modules: kit("deal", "ok"), Sinks: []trace.Sink{rows}, Observe: func(e Event) { events <- e },
		Jobs: []job.Config{
			{Name: "good", Shards: 2, Module: "ok", StrategyModule: "deal", Param: "r"},
			{Name: "bad", Shards: 2, Module: "ok", StrategyModule: "deal", Param: "m"},
			{Name: "refused", Shards: 2, Module: "ok", StrategyModule: "ok"},
		},
	})
	<-h.Ready()
	for _, name := range []string{"good", "bad"} {
		if err := h.Trigger(t.Context(), name); err != nil {
			t.Error(err)
		}
	}
	for range 4 {
		if r := <-rows; r.State != trace.Succeeded {
			t.Errorf("row %+v", r)
		}
	}
	var failed Event
	for len(events) > 0 && (failed.Kind != EventStrategy || failed.Config.Name != "bad") {
		failed = <-events
	}
	if failed.Kind != EventStrategy || failed.Config.Name != "bad" || failed.Reason.Code != reason.StrategyFailedEvenly || !strings.Contains(failed.Reason.String(), "items are assigned evenly: module deal: ") {
		t.Errorf("event %+v", failed)
	}
	s := h.Jobs()
	if len(s[0].Troubles) != 0 || len(s[1].Troubles) != 1 || !strings.Contains(s[2].Fault, "module ok is of the kinds [simple], not strategy") {
		t.Errorf("troubles %q, %q, fault %q", s[0].Troubles, s[1].Troubles, s[2].Fault)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
}

// A value that a guest sets is stored in the registry.
func TestStateIsKeptInTheRegistry(t *testing.T) {
	t.Parallel()
	reg, rows := embedded.Memory(), make(toRows, 10)
	h, stop := start(t, Options{
		Namespace: "n", Registry: reg, DataDir: t.TempDir(), Modules: kit("state"), Sinks: []trace.Sink{rows},
		Jobs: []job.Config{{Name: "j", Shards: 2, Module: "state", Allow: job.Allow{State: true}}},
	})
	<-h.Ready()
	if err := h.Trigger(t.Context(), "j"); err != nil {
		t.Error(err)
	}
	for range 2 {
		if r := <-rows; (r.State == trace.Succeeded) != (r.Item == 0) {
			t.Errorf("row %+v", r)
		}
	}
	session, err := reg.Open(t.Context(), func(registry.Event) {})
	if err != nil {
		t.Fatal(err)
	}
	for item, want := range []string{"1", ""} { // item 1 fails
		_, path := layout.NewJob("n", "j").StateOf(item)
		n, err := session.Read(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		if values, err := spelling.DecodeState(n); err != nil || string(values["a"]) != want {
			t.Errorf("item %d: %q, %v", item, values, err)
		}
	}
	if err := errors.Join(stop(), session.Close(), reg.Close()); err != nil {
		t.Error(err)
	}
}
