package host

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wasmjob/wasmjob/host/internal/definition"
	"github.com/wasmjob/wasmjob/host/internal/layout"
	"github.com/wasmjob/wasmjob/host/internal/layout/v21"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/job/recorded"
	"github.com/wasmjob/wasmjob/host/reason"
	"github.com/wasmjob/wasmjob/host/registry"
	"github.com/wasmjob/wasmjob/host/registry/embedded"
	"github.com/wasmjob/wasmjob/host/trace"
)

// recordedJob is a recorded job that a member of ElasticJob 2.1.5 has defined, with that member
// in it.
type recordedJob struct {
	*tool
	member *tool // owns the ephemeral nodes
	config string
	text   string // the configuration as Java wrote it
}

const (
	recordedName  = "job"
	recordedClass = "peer.PeerSimpleJob"
)

// newRecordedJob writes the nodes of a job with one member.
func newRecordedJob(t *testing.T, reg registry.Registry) *recordedJob {
	t.Helper()
	var golden struct {
		Namespace string `json:"namespace"`
		Moments   []struct {
			Tree []struct {
				Path      string `json:"path"`
				Data      string `json:"data"`
				Ephemeral bool   `json:"ephemeral"`
			} `json:"tree"`
		} `json:"moments"`
	}
	if err := json.Unmarshal(recorded.Golden(t, "ej2/basic.json"), &golden); err != nil {
		t.Fatal(err)
	}
	j := &recordedJob{tool: newTool(t, reg), member: newTool(t, reg)}
	j.config, _, _ = layout.NewJob("n", recordedName).Nodes()
	for _, n := range golden.Moments[0].Tree {
		at := "/n" + strings.TrimPrefix(n.Path, "/"+golden.Namespace)
		kind := registry.Create
		if n.Ephemeral {
			kind = registry.CreateEphemeral
		}
		j.member.commit(registry.Op{Kind: kind, Path: at, Data: []byte(n.Data)})
		if at == j.config {
			j.text = n.Data
		}
	}
	return j
}

func (j *recordedJob) close() {
	j.member.close()
	j.tool.close()
}

// rewrite replaces text in the configuration and writes it.
func (j *recordedJob) rewrite(pairs ...string) string {
	j.t.Helper()
	text := strings.NewReplacer(pairs...).Replace(j.text)
	if text == j.text && len(pairs) > 0 {
		j.t.Fatalf("nothing of %q is in %s", pairs, j.text)
	}
	j.set(j.config, text)
	return text
}

// snapshot returns everything below a node.
func (o *tool) snapshot(at string) map[string]string {
	o.t.Helper()
	n := o.read(at)
	all := map[string]string{at: fmt.Sprintf("%d %s", n.Stat.Version, n.Data)}
	for _, c := range n.Children {
		maps.Copy(all, o.snapshot(at+"/"+c))
	}
	return all
}

// withForeign returns options with the recorded job, altered by change.
func withForeign(t *testing.T, reg registry.Registry, change func(*job.Config)) Options {
	t.Helper()
	o := server(t, reg, "10.0.0.2", make(chan trace.Row, 1000))
	o.Discover, o.Peers, o.Runner = false, Peers{}, Func(fine)
	j := job.Config{
		Name: recordedName, Kind: job.Simple, Class: recordedClass, Cron: "0 0 3 * * ?", TimeZone: "Europe/Berlin", Shards: 1, Misfire: true, MonitorExecution: true,
		MaxClockSkew: -1, Timeout: 5e9, Unsaid: []string{"shards", "item_params", "param", "reconcile_every"},
	}
	change(&j)
	o.Jobs = []job.Config{j}
	return o
}

func asIs(*job.Config) {}

// out reports whether the job does not run here, for this reason alone.
func out(reason string) func([]job.Status) bool {
	return func(all []job.Status) bool {
		return all[0].Instance == "" && len(all[0].Troubles) == 1 && strings.Contains(all[0].Troubles[0].String(), reason)
	}
}

func onBoth(t *testing.T, test func(*testing.T, registry.Registry)) {
	t.Helper()
	t.Parallel()
	t.Run("embedded", func(t *testing.T) {
		t.Parallel()
		test(t, embedded.Memory())
	})
	t.Run("zookeeper", func(t *testing.T) {
		t.Parallel()
		test(t, zookeeper(t))
	})
}

// A server keeps the nodes of foreign members, adds its own, logs how its file differs, and
// follows changes by foreign members.
func TestAServerJoinsAJobOfJava(t *testing.T) {
	onBoth(t, func(t *testing.T, reg registry.Registry) {
		java := newRecordedJob(t, reg)
		h, stop := start(t, withForeign(t, reg, asIs))
		until(t, h, "joins", joined(recordedName, 2))
		_, module, _ := layout.NewJob("n", recordedName).Nodes()
		until(t, h, "defines what is its own", func([]job.Status) bool { return java.read(module).Exists })
		m, err := definition.DecodeModule(java.read(module).Data)
		if err != nil {
			t.Fatal(err)
		}
		config, err := v21.DecodeConfig([]byte(java.text))
		if err != nil {
			t.Fatal(err)
		}
		if j := (&definition.Definition{Config: *config, Module: m}).Job(job.Config{}); j.TimeZone != "Europe/Berlin" || j.Class != recordedClass || j.Timeout != 5e9 || j.Cron != "0/10 * * * * ?" {
			t.Errorf("the registry has %+v", j)
		}
		until(t, h, "tells the one difference", func(all []job.Status) bool {
			return slices.Equal(all[0].Troubles, []reason.Reason{reason.Of(reason.ConfigDisputed,
				`cron: the registry has "0/10 * * * * ?", this server's file "0 0 3 * * ?"; the registry is followed until they agree, or the file says overwrite`)})
		})
		if n := java.read(java.config); string(n.Data) != java.text || n.Stat.Version != 0 {
			t.Errorf("the configuration was written:\n%s\n%s", n.Data, java.text)
		}

		t.Log("a member of Java that says overwrite")
		java.rewrite(`"shardingTotalCount":6`, `"shardingTotalCount":4`, `0/10 *`, `0/20 *`, `"failover":false`, `"failover":true`)
		until(t, h, "follows", func(all []job.Status) bool {
			c := all[0].Config
			return c.Shards == 4 && c.Cron == "0/20 * * * * ?" && c.Failover && c.TimeZone == "Europe/Berlin"
		})

		t.Log("another class, while it runs")
		text := java.rewrite(recordedClass, "com.example.Other")
		until(t, h, "leaves", out(`"com.example.Other"`))
		if n := java.read(java.config); string(n.Data) != text {
			t.Errorf("the configuration was written: %s", n.Data)
		}
		java.rewrite()
		until(t, h, "comes back", joined(recordedName, 2))

		t.Log("the members of Java go, and come")
		java.rewrite(`"monitorExecution":true`, `"monitorExecution":false`)
		until(t, h, "leaves", out("monitorExecution"))
		java.member.close()
		until(t, h, "goes on alone", joined(recordedName, 1))
		java.member = newTool(t, reg)
		java.member.commit(registry.Op{Kind: registry.CreateEphemeral, Path: layout.NewJob("n", recordedName).Instance("10.0.0.1@-@77")})
		until(t, h, "leaves again", out("monitorExecution"))
		if err := stop(); err != nil {
			t.Error(err)
		}
		java.close()
		if err := reg.Close(); err != nil {
			t.Error(err)
		}
	})
}

// A server that cannot join a job says why in one line, changes nothing, and joins as soon as
// the cause is gone.
func TestWhatKeepsAServerOutOfAJobOfJava(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		file   func(*job.Config)
		spoil  func(*recordedJob)
		mend   func(*recordedJob)
		reason string
	}{
		"no_class": {
			file:   func(j *job.Config) { j.Class = "" },
			mend:   func(j *recordedJob) { j.rewrite(recordedClass, v21.WasmClass) },
			reason: `its class in the registry is "peer.PeerSimpleJob", and this server's file names none: write class = "peer.PeerSimpleJob"`,
		},
		"another_class": {
			file:   func(j *job.Config) { j.Class = "com.example.Mine" },
			mend:   func(j *recordedJob) { j.rewrite(recordedClass, "com.example.Mine") },
			reason: `its class in the registry is "peer.PeerSimpleJob", in this server's file "com.example.Mine"`,
		},
		"script": {
			spoil: func(j *recordedJob) {
				j.rewrite(`"SIMPLE"`, `"SCRIPT"`, recordedClass, "com.dangdang.ddframe.job.api.script.ScriptJob", `,"monitorExecution"`, `,"scriptCommandLine":"echo","monitorExecution"`)
			},
			reason: "the registry has it as a job of type SCRIPT, this server's file as one of kind simple",
		},
		"overwrite_beside_java": {
			file:   func(j *job.Config) { j.Class, j.Overwrite = "com.example.Mine", true },
			mend:   func(j *recordedJob) { j.rewrite(recordedClass, "com.example.Mine") },
			reason: "its class in the registry is",
		},
		"no_zone": {
			file: func(j *job.Config) { j.TimeZone = "" },
			mend: func(j *recordedJob) {
				instances := filepath.Dir(layout.NewJob("n", recordedName).Instance("any"))
				j.member.remove(instances + "/" + j.read(instances).Children[0])
			},
			reason: "it has no timezone",
		},
		"not_monitored": {
			spoil:  func(j *recordedJob) { j.rewrite(`"monitorExecution":true`, `"monitorExecution":false`) },
			reason: "monitorExecution is off",
		},
		"unknown_type": {
			spoil:  func(j *recordedJob) { j.rewrite(`"SIMPLE"`, `"WASM"`) },
			reason: `/n/job/config: expected the JSON of layout 2.1: read configuration: jobType: at byte 65: "WASM" is none of SIMPLE, DATAFLOW, SCRIPT`,
		},
		"unknown_property": {
			spoil:  func(j *recordedJob) { j.rewrite(`"jobProperties":{`, `"jobProperties":{"wasm_module":"m",`) },
			reason: "key \"wasm_module\": at byte 295: Java members can't read a configuration with this key here",
		},
		"no_config": {
			spoil:  func(j *recordedJob) { j.remove(j.config) },
			reason: "its configuration is gone, and members of ElasticJob share the job",
		},
		"yaml": {
			spoil:  func(j *recordedJob) { j.set(j.config, "cron: 0/10 * * * * ?\njobName: job\n") },
			reason: "/n/job/config: it seems to be YAML, a job of layout 3",
		},
		"layout_1": {
			spoil:  func(j *recordedJob) { j.set(j.config+"/cron", "0/10 * * * * ?") },
			mend:   func(j *recordedJob) { j.remove(j.config + "/cron") },
			reason: "/n/job/config: its keys are nodes, as in layout 1; expected a job of layout 2.1",
		},
		"layout_3_takes_it": {
			spoil:  func(j *recordedJob) { j.set("/n/job", "com.example.Mine") },
			mend:   func(j *recordedJob) { j.set("/n/job", "") },
			reason: `/n/job: it names the class "com.example.Mine", as in layout 3`,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			reg := embedded.Memory()
			java := newRecordedJob(t, reg)
			if tt.spoil != nil {
				tt.spoil(java)
			}
			if tt.file == nil {
				tt.file = asIs
			}
			if tt.mend == nil {
				tt.mend = func(j *recordedJob) { j.rewrite() }
			}
			before := java.snapshot("/n")
			h, stop := start(t, withForeign(t, reg, tt.file))
			until(t, h, "says why", out(tt.reason))
			if d := cmp.Diff(before, java.snapshot("/n")); d != "" {
				t.Errorf("something was written: %s", d)
			}
			tt.mend(java)
			until(t, h, "joins", func(all []job.Status) bool { return all[0].Instance != "" })
			if err := stop(); err != nil {
				t.Error(err)
			}
			java.close()
			if err := reg.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// A strategy that is unknown here is left to foreign members, and reported. Items that they
// assign are run.
func TestAStrategyOfJavaIsItsOwn(t *testing.T) {
	onBoth(t, func(t *testing.T, reg registry.Registry) {
		java := newRecordedJob(t, reg)
		text := java.rewrite(`"jobShardingStrategyClass":""`, `"jobShardingStrategyClass":"com.example.ByRack"`)
		o := withForeign(t, reg, func(j *job.Config) {
			j.Cron, j.Unsaid = "0/10 * * * * ?", append(j.Unsaid, "strategy")
		})
		h, stop := start(t, o)
		until(t, h, "joins, and tells", func(all []job.Status) bool {
			return joined(recordedName, 2)(all) && len(all[0].Troubles) == 1 && strings.Contains(all[0].Troubles[0].String(), `the sharding strategy "com.example.ByRack" is not known here`)
		})
		if err := stop(); err != nil {
			t.Error(err)
		}
		if n := java.read(java.config); string(n.Data) != text || n.Stat.Version != 1 {
			t.Errorf("the configuration was written: %s", n.Data)
		}
		java.close()
		if err := reg.Close(); err != nil {
			t.Error(err)
		}
	})
}

// A job that is removed while a server must not run it is defined again by that server's file.
func TestARemovedJobIsNobodysAnyMore(t *testing.T) {
	t.Parallel()
	reg := embedded.Memory()
	java := newRecordedJob(t, reg)
	h, stop := start(t, withForeign(t, reg, func(j *job.Config) { j.Class = "com.example.Mine" }))
	until(t, h, "says why", out("its class in the registry"))
	java.member.remove("/n/" + recordedName)
	until(t, h, "defines it", joined(recordedName, 1))
	if n := java.read(java.config); !strings.Contains(string(n.Data), `"jobClass":"com.example.Mine"`) {
		t.Errorf("%s", n.Data)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
	java.close()
	if err := reg.Close(); err != nil {
		t.Error(err)
	}
}

// A server without a file reads from wasm/module which class a module replaces.
func TestAFoundJobOfAnotherClassDoesNotRun(t *testing.T) {
	t.Parallel()
	reg := embedded.Memory()
	o := server(t, reg, "10.0.0.1", make(chan trace.Row, 100))
	o.Peers, o.Runner = Peers{}, Func(fine)
	tool := newTool(t, reg)
	j := simple("found", strings.Repeat("0", 64))
	j.Class = recordedClass
	tool.define(j)
	j.Name, j.Class = "never", "com.example.Mine"
	tool.define(j)
	tool.change("never", func(c *v21.Config) { c.JobClass = recordedClass })
	h, stop := start(t, o)
	until(t, h, "it runs", joined("found", 1))
	tool.change("found", func(c *v21.Config) { c.JobClass = "com.example.Other" })
	until(t, h, "it stays", func(all []job.Status) bool {
		return all[0].Instance != "" && strings.Contains(reason.Words(all[0].Troubles, ""), `its class in the registry is "com.example.Other"`)
	})
	until(t, h, "another one does not run", func(all []job.Status) bool {
		return slices.ContainsFunc(all, func(s job.Status) bool {
			said := s.Fault + reason.Words(s.Troubles, "")
			return s.Config.Name == "never" && s.Instance == "" && strings.Contains(said, `in this server's file "com.example.Mine"`)
		})
	})
	tool.close()
	if err := errors.Join(stop(), reg.Close()); err != nil {
		t.Error(err)
	}
}
