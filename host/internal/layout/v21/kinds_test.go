package v21

import (
	"strings"
	"testing"

	"github.com/wasmjob/wasmjob/host/job"
)

func TestConfigOfKinds(t *testing.T) {
	t.Parallel()
	const before, after = `,"jobProperties":{"job_exception_handler":"com.dangdang.ddframe.job.executor.handler.impl.DefaultJobExceptionHandler",` +
		`"executor_service_handler":"com.dangdang.ddframe.job.executor.handler.impl.DefaultExecutorServiceHandler"}`, `"monitorExecution":false`
	tests := map[string]struct {
		j           job.Config
		class, typ  string
		distinctive string
	}{
		"simple":   {job.Config{Kind: job.Simple}, WasmClass, "SIMPLE", ","},
		"dataflow": {job.Config{Kind: job.Dataflow}, WasmClass, "DATAFLOW", `,"streamingProcess":false,`},
		"stream":   {job.Config{Kind: job.Dataflow, Streaming: true, Class: "x.Y"}, "x.Y", "DATAFLOW", `,"streamingProcess":true,`},
		"script":   {job.Config{Kind: job.Script, Module: "m", Args: []string{"a"}, Class: "x.Y"}, ScriptClass, "SCRIPT", `,"scriptCommandLine":"",`},
		"command":  {job.Config{Kind: job.Script, Command: "echo 'a b'"}, ScriptClass, "SCRIPT", `,"scriptCommandLine":"echo \u0027a b\u0027",`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tt.j.Name, tt.j.Shards = "j", 1
			c := FromJob(tt.j)
			text, err := EncodeConfig(c)
			if err != nil {
				t.Fatal(err)
			}
			for _, want := range []string{`"jobClass":"` + tt.class + `","jobType":"` + tt.typ + `"`, before + tt.distinctive + after} {
				if !strings.Contains(string(text), want) {
					t.Errorf("%s has no %s", text, want)
				}
			}
			if back, err := DecodeConfig(text); err != nil || *back != c {
				t.Errorf("%+v, %v, want %+v", back, err, c)
			}
		})
	}
}

// The registry sets how a job streams, but not what runs on the servers, since anyone with
// access to the registry may write there.
func TestConfigAppliesToKinds(t *testing.T) {
	t.Parallel()
	c := Default()
	c.JobType, c.StreamingProcess = Dataflow, true
	if got := c.Apply(job.Config{Kind: job.Dataflow}); !got.Streaming {
		t.Error("streaming was not switched on")
	}
	if got := c.Apply(job.Config{Kind: job.Simple}); got.Streaming || got.Kind != job.Simple {
		t.Errorf("got %+v", got)
	}
	c.StreamingProcess = false
	if got := c.Apply(job.Config{Kind: job.Dataflow, Streaming: true}); got.Streaming {
		t.Error("streaming was not switched off")
	}
	c.JobType, c.ScriptCommandLine = Script, "rm -rf /"
	if got := c.Apply(job.Config{Kind: job.Script, Command: "echo"}); got.Command != "echo" {
		t.Errorf("the command became %q", got.Command)
	}
}

// A file may name a strategy as any version does; Java knows only its class of 2.1.
func TestClassesOfStrategies(t *testing.T) {
	t.Parallel()
	for class, names := range map[string][]string{
		"AverageAllocationJobShardingStrategy":  {"average", "AVG_ALLOCATION", strategies3 + "AverageAllocationJobShardingStrategy"},
		"OdevitySortByNameJobShardingStrategy":  {"odevity", "ODEVITY", strategies3 + "OdevitySortByNameJobShardingStrategy"},
		"RotateServerByNameJobShardingStrategy": {"rotate", "round-robin", "round_robin", "ROUND_ROBIN", strategies3 + "RoundRobinByNameJobShardingStrategy"},
	} {
		for _, name := range append(names, strategies+class) {
			if got := FromJob(job.Config{Strategy: name}).JobShardingStrategyClass; got != strategies+class {
				t.Errorf("%s is written as %s, want %s", name, got, class)
			}
		}
	}
}
