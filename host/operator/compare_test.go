package operator

import (
	"strings"
	"testing"

	"github.com/wasmjob/wasmjob/host/internal/javatest"
	"github.com/wasmjob/wasmjob/host/internal/layout/v21"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/reason"
	"github.com/wasmjob/wasmjob/host/registry"
)

// After Compare, a report also shows why a server with that file could not run the job,
// and that a job will not fire again.
func TestReportsSayWhatKeepsAServerOut(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		config string // "": one that fits
		file   func(*job.Config)
		want   string // "": nothing
	}{
		{name: "it fits"},
		{name: "no class", file: func(j *job.Config) { j.Class = "" }, want: `its class in the registry is "com.acme.OrderJob", and this server's file names none: write class = "com.acme.OrderJob"`},
		{name: "another class", file: func(j *job.Config) { j.Class = "com.acme.Mine" }, want: `its class in the registry is "com.acme.OrderJob", in this server's file "com.acme.Mine"`},
		{name: "overwritten", file: func(j *job.Config) { j.Class, j.Overwrite = "com.acme.Mine", true }, want: "its class in the registry is"},
		{
			name: "a script", file: func(j *job.Config) { j.Kind = job.Simple }, config: javatest.Config(func(c *v21.Config) { c.JobType, c.ScriptCommandLine = v21.Script, "echo" }),
			want: "the registry has it as a job of type SCRIPT, this server's file as one of kind simple",
		},
		{name: "no zone", file: func(j *job.Config) { j.TimeZone = "" }, want: "it has no timezone"},
		{name: "not monitored", config: javatest.Config(func(c *v21.Config) { c.MonitorExecution = false }), want: "monitorExecution is off"},
		{
			name: "unknown type", config: strings.Replace(javatest.Config(nil), `"SIMPLE"`, `"WASM"`, 1),
			want: `expected the JSON of layout 2.1: read configuration: jobType: at byte`,
		},
		{name: "a job of layout 3", config: "cron: 0/10 * * * * ?\njobName: orders\nshardingTotalCount: 2\n", want: `it is a job of layout 3, in this server's file one of layout 2.1: write layout = "3"`},
		{
			name: "a strategy of theirs", config: javatest.Config(func(c *v21.Config) { c.JobShardingStrategyClass = "com.acme.ByRack" }),
			file: func(j *job.Config) { j.Unsaid = append(j.Unsaid, "strategy") },
			want: `its strategy "com.acme.ByRack" is not known to this server`,
		},
		{name: "it is over", config: javatest.Config(func(c *v21.Config) { c.Cron = "0 10 0 1 1 ? 2000" }), want: "is over, and it never fires again"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			o := operate(t, passing(t))
			if tt.config == "" {
				tt.config = javatest.Config(nil)
			}
			javatest.Write(t, o.session, tt.config)
			o.Compare(javatest.File(tt.file))
			r, err := o.Job(t.Context(), javatest.Name)
			if err != nil {
				t.Fatal(err)
			}
			text := reason.Words(append(r.Faults, r.Blockers...), "\n")
			if !strings.Contains(text, tt.want) || (text == "") != (tt.want == "") {
				t.Errorf("the report says %q, want %q", text, tt.want)
			}
			if err := o.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// A report on a job of a layout before 2.1 shows the same.
func TestReportsNameOlderLayouts(t *testing.T) {
	t.Parallel()
	o := operate(t, passing(t))
	javatest.Write(t, o.session, javatest.Config(nil))
	javatest.Put(t, o.session, registry.Create, javatest.Node("config", "cron"), "0/10 * * * * ?")
	o.Compare(javatest.File(nil))
	r, err := o.Job(t.Context(), javatest.Name)
	if text := reason.Words(r.Faults, "\n"); err != nil || !strings.Contains(text, "its keys are nodes, as in layout 1; expected a job of layout 2.1; it is not touched") {
		t.Errorf("the report says %q, %v", text, err)
	}
	if err := o.Close(); err != nil {
		t.Error(err)
	}
}
