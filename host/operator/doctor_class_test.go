package operator

import (
	"testing"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/internal/definition"
	"github.com/wasmjob/wasmjob/host/internal/javatest"
	"github.com/wasmjob/wasmjob/host/internal/layout"
	"github.com/wasmjob/wasmjob/host/internal/layout/v21"
	"github.com/wasmjob/wasmjob/host/registry"
)

// The class of a job of ours was changed while it had no foreign member. A server with the old
// file can join; doctor says what would prevent that, and which servers are down.
func TestCheckupOfAJobThatGoesOnOnlyWithoutElasticJob(t *testing.T) {
	t.Parallel()
	o, file := operate(t, passing(t)), javatest.File(nil)
	javatest.Write(t, o.session, javatest.Config(func(c *v21.Config) { c.JobClass = "com.acme.Newer" }))
	whole := host.Options{Jobs: file}.WithDefaults().Jobs[0]
	module, err := definition.EncodeModule(layout.NewJob("", "").Define(whole).Module)
	if err != nil {
		t.Fatal(err)
	}
	put(t, o, registry.Create, javatest.Node("wasm"), "")
	put(t, o, registry.Create, javatest.Node("wasm", "module"), string(module))
	look := func(breaks, notes []string) {
		t.Helper()
		all, err := o.Checkups(t.Context(), host.Options{Jobs: file, Instance: "10.0.0.10@-@7"})
		if err != nil || len(all) != 1 {
			t.Fatalf("%d jobs, %v", len(all), err)
		}
		wantLines(t, "breaks", all[0].Breaks, breaks)
		wantLines(t, "notes", all[0].Notes, notes)
	}
	const class = `its class in the registry is "com.acme.Newer"`
	look([]string{class}, nil)
	put(t, o, registry.Delete, javatest.Node("instances", javatest.Member), "")
	put(t, o, registry.Delete, javatest.Node("leader", "election", "instance"), "")
	look(nil, []string{class, "the job goes on here as long as no member of ElasticJob joins it", "no member of the job is at 10.0.0.1 now"})
}

// No file makes a job of the type HTTP run, so doctor asks for none.
func TestCheckupOfAJobThatNoServerRuns(t *testing.T) {
	t.Parallel()
	o := operate(t, passing(t))
	javatest.Write(t, o.session, "cron: 0 * * * * ?\njobName: orders\nmonitorExecution: true\nshardingTotalCount: 2\n")
	javatest.Put(t, o.session, registry.Set, javatest.Node(), "HTTP")
	all, err := o.Checkups(t.Context(), host.Options{Instance: "10.0.0.10@-@7"})
	if err != nil || len(all) != 1 {
		t.Fatalf("%d jobs, %v", len(all), err)
	}
	wantLines(t, "breaks", all[0].Breaks, []string{"it is a job of the type HTTP, whose requests members of ElasticJob send"})
	wantLines(t, "needs", all[0].Needs, nil)
}
