package v21

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/wasmjob/wasmjob/host/internal/definition"
	"github.com/wasmjob/wasmjob/host/internal/layout/spelling"
	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/job/recorded"
)

// javaTexts are configurations that ElasticJob 2.1.5 was recorded writing, and others as
// its console and people write them.
func javaTexts(t *testing.T) map[string]string {
	t.Helper()
	texts := map[string]string{}
	for _, v := range recorded.Vectors[vector21](t, "config/lite2.jsonl") {
		text := v.S
		if v.Op == "tojson" && v.Want.JSON != nil {
			text = *v.Want.JSON
		}
		if c, err := DecodeConfig([]byte(text)); err == nil && c != nil {
			texts[v.ID] = text
		}
	}
	for _, scenario := range []string{"basic", "disable", "failover_one_ip", "misfire", "once", "shutdown", "totals", "trigger"} {
		var golden struct {
			Moments []struct {
				Tree []struct{ Path, Data string } `json:"tree"`
			} `json:"moments"`
		}
		if err := json.Unmarshal(recorded.Golden(t, "ej2/"+scenario+".json"), &golden); err != nil {
			t.Fatal(err)
		}
		for i, m := range golden.Moments {
			for _, n := range m.Tree {
				if strings.HasSuffix(n.Path, "/config") {
					texts[fmt.Sprintf("%s-%d", scenario, i)] = n.Data
				}
			}
		}
	}
	texts["keys of others"] = `{ "zone" : {"a":[1,null]}, ` + texts["basic-0"][1:]
	texts["console"] = `{"jobName":"j","jobType":"SIMPLE","jobClass":"a.B","cron":"0/1 * * * * ?","shardingTotalCount":2,"shardingItemParameters":"0\u003da","jobParameter":"",` +
		`"monitorExecution":true,"maxTimeDiffSeconds":-1,"monitorPort":-1,"failover":true,"misfire":true,"jobShardingStrategyClass":"","description":"",` +
		`"jobProperties":{"executor_service_handler":"x.P","job_exception_handler":"x.E"},"reconcileIntervalMinutes":10}`
	if len(texts) < 60 {
		t.Fatalf("only %d texts", len(texts))
	}
	return texts
}

// A server that joins a job of Java leaves its text unchanged, whatever its own file has.
func TestWhatJavaWroteStays(t *testing.T) {
	t.Parallel()
	file := plainJob()
	file.Cron, file.Shards, file.Param, file.Description, file.Failover, file.ReconcileEvery, file.Streaming = "0 0 9 * * ?", 77, "p&q", "<d>", true, 1e12, true
	for name, text := range javaTexts(t) {
		config, err := DecodeConfig([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		file := file
		file.Name, file.Class = config.JobName, config.JobClass
		for _, file.Kind = range []job.Kind{job.Simple, job.Dataflow, job.Script} {
			merged, err := definition.Merge(NewJob("", "j").Define(file), *config, nil)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			got, err := NewJob("", "j").Spell(protocol.Definition{Config: spelling.Text([]byte(text))}, merged.Definition)
			if err != nil || got.Config.String() != text {
				t.Errorf("%s, %s: %v\n%s\n%s", name, file.Kind, err, text, got.Config)
			}
			// A second start finds what the first has written.
			again, err := definition.Merge(NewJob("", "j").Define(file), *config, &merged.Module)
			if err != nil || again.Config != merged.Config || len(again.Changed) > 0 {
				t.Errorf("%s, %s: a second start changes %v, %v", name, file.Kind, again.Changed, err)
			}
		}
	}
}

// A change of one value changes only its bytes.
func TestUpdateOfWhatJavaWrote(t *testing.T) {
	t.Parallel()
	changes := map[string]func(*Config){
		"cron":               func(c *Config) { c.Cron = "0 0 0/3 ? * MON#2 2031" },
		"shardingTotalCount": func(c *Config) { c.ShardingTotalCount += 4711 },
		"jobParameter":       func(c *Config) { c.JobParameter += "a=<b>'&\u2028" },
		"failover":           func(c *Config) { c.Failover = !c.Failover },
		"monitorExecution":   func(c *Config) { c.MonitorExecution = !c.MonitorExecution },
		"description":        func(c *Config) { c.Description += "ü \"x\"" },
		"monitorPort":        func(c *Config) { c.MonitorPort = 31_000 },
		"disabled":           func(c *Config) { c.Disabled = !c.Disabled },
	}
	for name, text := range javaTexts(t) {
		for key, change := range changes {
			want, err := DecodeConfig([]byte(text))
			if err != nil {
				t.Fatal(err)
			}
			change(want)
			got, err := UpdateConfig([]byte(text), want)
			if err != nil {
				t.Errorf("%s, %s: %v", name, key, err)
				continue
			}
			if back, err := DecodeConfig(got); err != nil || *back != *want {
				t.Errorf("%s, %s: %+v, %v, want %+v", name, key, back, err, want)
			}
			before, after := differences([]byte(text), got)
			if bytes.ContainsAny(before, "{}") || len(before) > 60 || bytes.Contains(after, []byte("null")) {
				t.Errorf("%s, %s: %q became %q in\n%s", name, key, before, after, text)
			}
			var generic map[string]any
			if json.Valid([]byte(text)) && json.Unmarshal(got, &generic) != nil {
				t.Errorf("%s, %s: it is no JSON any more: %s", name, key, got)
			}
		}
	}
}

// differences returns the parts in which two texts differ.
func differences(a, b []byte) (inA, inB []byte) {
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	for len(a) > 0 && len(b) > 0 && a[len(a)-1] == b[len(b)-1] {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	return a, b
}

// plainJob is a job with only ordinary settings.
func plainJob() job.Config {
	return job.Config{
		Name: "j", Kind: job.Simple, Cron: "0 0 2 * * ?", Shards: 3, Module: "m", ModuleDigest: strings.Repeat("a", 64), Layout: job.Layout21,
		Overlap: job.Skip, OnRegistryLoss: job.CancelOnLoss, MaxClockSkew: -1, Misfire: true, MonitorExecution: true,
	}
}
