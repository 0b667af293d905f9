package host

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wasmjob/wasmjob/host/internal/layout"
	"github.com/wasmjob/wasmjob/host/internal/native/nativetest"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/registry"
	"github.com/wasmjob/wasmjob/host/registry/embedded"
	"github.com/wasmjob/wasmjob/host/trace"
)

// job3 is a job of layout 3 that a OneOffJobBootstrap of ElasticJob 3.0.4 has defined.
type job3 struct {
	*tool
	layout.Layout
	config string
}

// kept3 are keys of a configuration that no setting of a file corresponds to.
const kept3 = "jobErrorHandlerType:   EMAIL # ours\njobExtraConfigurations:\n- !!org.apache.shardingsphere.elasticjob.tracing.yaml.YamlTracingConfiguration\n  type: RDB\n"

func newJob3(t *testing.T, reg registry.Registry, class, more string) *job3 {
	t.Helper()
	j := &job3{newTool(t, reg), layout.New(job.Layout3, "n", "job"), kept3 + "jobName: job\nmonitorExecution: true\n" + more + "shardingTotalCount: 2\nstaticSharding: false\n"}
	j.set("/n", "")
	j.set(j.Root(), class)
	j.set(j.At("config"), j.config)
	return j
}

// execute requests a run like OneOffJobBootstrap.execute and the console's trigger.
func (j *job3) execute() {
	j.t.Helper()
	j.remove(j.At("trigger"))
	j.set(j.At("trigger"), "")
	for _, id := range j.read(j.At("instances")).Children {
		j.set(j.At("trigger/"+id), "")
	}
}

// withJob3 returns options with the job, in a file that follows the registry.
func withJob3(t *testing.T, reg registry.Registry, rows chan trace.Row, j job.Config) Options {
	t.Helper()
	o := server(t, reg, "10.0.0.2", rows)
	o.Discover, o.Peers, o.Runner = false, Peers{}, Func(fine)
	j.Name, j.Layout, j.Shards, j.MonitorExecution, j.MaxClockSkew, j.TimeZone = "job", job.Layout3, 1, true, -1, "UTC"
	j.Unsaid = []string{"shards", "item_params", "param", "reconcile_every", "cron", "misfire", "strategy", "streaming"}
	o.Jobs = []job.Config{j}
	return o
}

// A job of layout 3 without a cron runs on request, whatever its type, and its configuration
// stays the same to the byte.
func TestOneOffJobsOfLayout3(t *testing.T) {
	t.Parallel()
	const command = "/bin/echo done"
	for name, c := range map[string]struct {
		class, more string
		file        job.Config
	}{
		"simple":                {class: "a.B", file: job.Config{Kind: job.Simple, Class: "a.B"}},
		"dataflow":              {class: "a.B", more: "props:\n  streaming.process: 'false'\n", file: job.Config{Kind: job.Dataflow, Class: "a.B"}},
		"dataflow by its class": {class: "a.B", file: job.Config{Kind: job.Dataflow, Class: "a.B"}},
		"script":                {class: "SCRIPT", more: "props:\n  script.command.line: " + command + "\n", file: job.Config{Kind: job.Script, Command: command}},
	} {
		t.Run(name, func(t *testing.T) {
			onBoth(t, func(t *testing.T, reg registry.Registry) {
				java := newJob3(t, reg, c.class, c.more)
				rows := make(chan trace.Row, 100)
				o := withJob3(t, reg, rows, c.file)
				if c.file.Command != "" {
					o.Runner, o.NativeScripts, o.Supervisor = nil, true, nativetest.CommandLine(t)
				}
				h, stop := start(t, o)
				until(t, h, "joins", joined("job", 1))
				for range 2 {
					java.execute()
					for range 2 {
						if r := <-rows; r.State != trace.Succeeded || r.Cause != "trigger" {
							t.Errorf("row %+v", r)
						}
					}
				}
				if s := h.Jobs()[0]; s.Config.Kind != o.Jobs[0].Kind || s.Config.Streaming || len(s.Troubles) > 0 {
					t.Errorf("it runs as %s, streaming %v, with troubles %v", s.Config.Kind, s.Config.Streaming, s.Troubles)
				}
				if n := java.read(java.At("config")); string(n.Data) != java.config || n.Stat.Version != 0 {
					t.Errorf("the configuration was written: %s", n.Data)
				}
				if err := stop(); err != nil {
					t.Error(err)
				}
				java.close()
				if err := reg.Close(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// A server does not run such jobs. It says why, writes nothing, and joins when the job has
// changed.
func TestJobsOfLayout3ThatNoServerRuns(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		class   string
		replace []string // in the configuration
		reason  string
	}{
		"HTTP":            {"HTTP", nil, "it is a job of the type HTTP"},
		"static sharding": {"a.B", []string{"staticSharding: false", "staticSharding: true"}, "staticSharding is true"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			reg := embedded.Memory()
			java := newJob3(t, reg, c.class, "")
			java.set(java.At("config"), strings.NewReplacer(c.replace...).Replace(java.config))
			before := java.snapshot("/n")
			h, stop := start(t, withJob3(t, reg, make(chan trace.Row, 1), job.Config{Kind: job.Simple, Class: "a.B", Overwrite: true}))
			until(t, h, "says why", out(c.reason))
			if d := cmp.Diff(before, java.snapshot("/n")); d != "" {
				t.Errorf("something was written: %s", d)
			}
			java.set(java.Root(), "a.B")
			java.set(java.At("config"), java.config)
			until(t, h, "joins", joined("job", 1))
			java.close()
			if err := errors.Join(stop(), reg.Close()); err != nil {
				t.Error(err)
			}
		})
	}
}

// A file that overwrites a job changes the keys of its settings. The other keys stay the same
// to the byte, comments and spaces included.
func TestAFileKeepsWhatItHasNoWordFor(t *testing.T) {
	t.Parallel()
	reg := embedded.Memory()
	java := newJob3(t, reg, "a.B", "")
	h, stop := start(t, withJob3(t, reg, make(chan trace.Row, 1), job.Config{Kind: job.Simple, Class: "a.B", Description: "ours", Overwrite: true}))
	until(t, h, "overwrites it", func([]job.Status) bool { return java.read(java.At("config")).Stat.Version > 0 })
	want := "description: ours\n" + strings.Replace(java.config, "shardingTotalCount: 2", "overwrite: true\nshardingTotalCount: 1", 1)
	if n := java.read(java.At("config")); string(n.Data) != want {
		t.Errorf("got\n%s\nwant\n%s", n.Data, want)
	}
	java.close()
	if err := errors.Join(stop(), reg.Close()); err != nil {
		t.Error(err)
	}
}
