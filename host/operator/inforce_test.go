package operator

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/internal/layout"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/registry"
)

// Settings that a file does not name are the registry's. A job of ElasticJob has its time zone from the file,
// since the registry has none.
func TestSettingsInForce(t *testing.T) {
	t.Parallel()
	o := operate(t, passing(t))
	put(t, o, registry.Create, "/jobs", "")
	file := func(name string) job.Config {
		return job.Config{Name: name, Kind: job.Simple, Cron: "0 0 2 * * ?", TimeZone: "Europe/Berlin", Shards: 4, Overlap: job.Skip, OnRegistryLoss: job.CancelOnLoss, Layout: job.Layout21, Class: "com.acme.OrderJob"}
	}
	for _, name := range []string{"fewer", "java", "same", "broken"} {
		defined(t, o, file(name))
	}
	_, module, _ := layout.NewJob("jobs", "java").Nodes()
	put(t, o, registry.Delete, module, "")
	at, _, _ := layout.NewJob("jobs", "broken").Nodes()
	put(t, o, registry.Set, at, "{")
	var files []job.Config
	for _, name := range []string{"fewer", "java", "same", "broken", "comes"} {
		j := file(name)
		if name != "same" {
			j.Shards, j.Unsaid = 1, []string{"shards"}
		}
		files = append(files, j)
	}
	all, err := o.InForce(t.Context(), host.Options{Jobs: files})
	got := map[string][3]any{}
	for _, j := range all {
		got[j.Name] = [3]any{j.Shards, j.Cron, j.TimeZone}
	}
	here := func(shards int) [3]any { return [3]any{shards, "0 0 2 * * ?", "Europe/Berlin"} }
	want := map[string][3]any{"fewer": here(4), "java": here(4), "same": here(4), "broken": here(1), "comes": here(1)}
	if d := cmp.Diff(want, got); err != nil || d != "" {
		t.Errorf("%v, %s", err, d)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if all, err := o.InForce(ctx, host.Options{Jobs: files}); err == nil || cmp.Diff(files, all) != "" {
		t.Errorf("without the registry: %v, %v", all, err)
	}
	if err := o.Close(); err != nil {
		t.Error(err)
	}
}
