package migration

import (
	"errors"
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wasmjob/wasmjob/host/registry"
)

// with returns a recorded tree with other nodes; "-" removes a node.
func with(t *testing.T, r recording, change map[string]string) *stage {
	t.Helper()
	nodes := recordings[r](t)
	maps.Copy(nodes, change)
	maps.DeleteFunc(nodes, func(_, data string) bool { return data == "-" })
	return newStage(t, nodes)
}

var (
	in1  = recording{"ej1/pause", "1"}
	in20 = recording{"ej20/pause", "2.0"}
	in21 = recording{"ej2/disable", "2.1"}
)

// A tree of two layouts is refused, and so is one with an unreadable configuration, moment
// or mark.
func TestRefused(t *testing.T) {
	t.Parallel()
	const half = "half of one layout and half of another"
	for name, c := range map[string]struct {
		of     recording
		change map[string]string
		want   string
	}{
		"keys and JSON":              {in1, map[string]string{"config": "{}"}, half + ": by its nodes it is of layout 2.0, and keys of config are nodes"},
		"2.1 and a key":              {in21, map[string]string{"config/cron": ""}, half + ": by its nodes it is of layout 2.1, and keys of config are nodes"},
		"keys and an instance":       {in1, map[string]string{"instances": ""}, half + ": by config and servers it is of layout 2.0, and instances is of layout 2.1 or 3"},
		"keys and a class":           {in1, map[string]string{"": "a.B"}, half + ": by its nodes it is of layout 1, and the job's own node names a class"},
		"layout 1 and owners":        {in1, map[string]string{"sharding": "", "sharding/0": "", "sharding/0/instance": "x"}, half + ": by config and servers it is of layout 1, and sharding/0/instance"},
		"an assignment of ours":      {in1, map[string]string{"wasm": "", "wasm/members": "", "wasm/assignment": "x"}, "what servers of ours have left cannot be read: /job/wasm/assignment"},
		"runs without members":       {recording{"ours/flow", "1"}, map[string]string{"wasm/members": "-"}, "wasm/module is of servers of ours, and wasm/members is gone"},
		"a state of ours":            {recording{"ours/flow", "1"}, map[string]string{"wasm/items/1/state": "x"}, "offset/1: read the state"},
		"2.0 and a server of 2.1":    {in20, map[string]string{"servers/10.0.0.7": "DISABLED"}, half + ": by config and servers it is of layout 2.0, and servers/10.0.0.7"},
		"2.0 and instances":          {in20, map[string]string{"instances": ""}, half + ": by config and servers it is of layout 2.0, and instances"},
		"2.1 and executions":         {in21, map[string]string{"execution": ""}, half + ": by config and servers it is of layout 2.1, and execution is of layout 1 or 2.0"},
		"2.1 and a flag of a server": {in21, map[string]string{"servers/10.0.0.1/paused": ""}, half + ": by config and servers it is of layout 2.1, and servers/10.0.0.1/paused"},
		"2.1 and triggers of 3":      {in21, map[string]string{"trigger": ""}, half + ": by its nodes it is of layout 2.1, and there is trigger"},
		"3 and JSON":                 {in21, map[string]string{"": "a.B"}, half + ": by its nodes it is of layout 3, and config has JSON"},
		"no configuration":           {in21, map[string]string{"config": ""}, "its nodes show no layout"},
		"the rest of a removal":      {in20, map[string]string{"config": "-", "wasm": "", "wasm/removal": ""}, "only the rest of an unfinished removal is there; job remove finishes it"},
		"a key without a number":     {in1, map[string]string{"config/shardingTotalCount": "x"}, "config: expected the configuration of layout 1: config/shardingTotalCount"},
		"JSON that is cut":           {in20, map[string]string{"config": "{"}, "config: expected the configuration of layout 2.0"},
		"2.1 that is cut":            {in21, map[string]string{"config": "{"}, "config: expected the configuration of layout 2.1"},
		"another job":                {in21, map[string]string{"config": `{"jobName":"other","jobClass":"a","jobType":"SIMPLE","cron":"0 * * * * ?","shardingTotalCount":1}`}, `cannot be read: /job/config: expected the job "job", it is that of "other"`},
		"a class that is a script":   {in21, map[string]string{"config": `{"jobName":"job","jobClass":"SCRIPT","jobType":"SIMPLE","cron":"0 * * * * ?","shardingTotalCount":1}`}, `jobClass: layout 3 takes "SCRIPT" for a type of job`},
		"a class that is HTTP":       {in21, map[string]string{"config": `{"jobName":"job","jobClass":"HTTP","jobType":"DATAFLOW","cron":"0 * * * * ?","shardingTotalCount":1}`}, `jobClass: layout 3 takes "HTTP" for a type of job`},
		"parameters":                 {in1, map[string]string{"config/shardingItemParameters": "a"}, "cannot be read: /job/config: shardingItemParameters"},
		"a moment":                   {in1, map[string]string{"execution/0/lastBeginTime": "soon"}, `execution/0/lastBeginTime: "soon": expected digits`},
		"a moment to come":           {in1, map[string]string{"execution/0/lastBeginTime": "1799999999999"}, "execution/0/lastBeginTime: 1799999999999 is more than 1h0m0s after it was written"},
		"an address":                 {in1, map[string]string{"servers/a": "", "servers/a/hostName": ""}, `/ns/job/servers: "a" is no IPv4 address`},
		"an offset":                  {in1, map[string]string{"offset": "", "offset/0": strings.Repeat("x", 300<<10)}, "offset/0: the state has"},
		"no text":                    {in1, map[string]string{"servers/10.0.0.1/hostName": "\xff"}, "servers/10.0.0.1/hostName: expected a text in UTF-8"},
		"no migration":               {in21, map[string]string{"wasm": "", "wasm/migration": "{"}, "wasm/migration: expected a migration"},
		"a migration of elsewhere":   {in21, map[string]string{"wasm": "", "wasm/migration": `{"v":1,"from":"1","to":"2.1","nodes":{"wasm/paused":""}}`}, `wasm/migration: "wasm/paused" is no node that a migration keeps`},
		"a migration that adds":      {in21, map[string]string{"wasm": "", "wasm/migration": `{"v":1,"from":"1","to":"2.1","nodes":{},"ours":true,"added":["config"]}`}, `wasm/migration: "config" is no node that a migration adds`},
		"a later migration":          {in21, map[string]string{"wasm": "", "wasm/migration": `{"v":2}`}, "version 2 is not known"},
		"one that is not over":       {in21, map[string]string{"wasm": "", "wasm/migration": `{"v":1,"from":"1","to":"2.1","nodes":{}}`}, "it came from layout 1, and what is kept to go back is still there"},
	} {
		_, err := Forward("ns", "job", "3", with(t, c.of, c.change).nodes())
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	s := with(t, in21, nil)
	if _, err := Forward("ns", "job", "2.0", s.nodes()); err == nil || !strings.Contains(err.Error(), `to layout 2.1 or 3, not to "2.0"`) {
		t.Errorf("to 2.0: %v", err)
	}
	s.must(s.forward("3").Ops()...)
	if _, err := Forward("ns", "job", "2.1", s.nodes()); err == nil || !strings.Contains(err.Error(), "a job is moved to a later layout only") {
		t.Errorf("down: %v", err)
	}
}

// Nothing is planned, in either direction, while a session holds a node.
func TestNotAtRest(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, _ recording, to string, nodes map[string]string) {
		s := newStage(t, nodes)
		s.hold("held")
		if _, err := Forward("ns", "job", to, s.nodes()); err == nil || !strings.Contains(err.Error(), "it is not at rest: sessions hold held.") {
			t.Error(err)
		}
		s.must(registry.Op{Kind: registry.Delete, Path: root + "/held"})
		s.must(s.forward(to).Ops()...)
		s.hold("held")
		if _, err := Back("ns", "job", s.nodes()); err == nil || !strings.Contains(err.Error(), "it is not at rest") {
			t.Error(err)
		}
		s.must(registry.Op{Kind: registry.Delete, Path: root + "/held"})
		s.hold("instances/10.0.0.1@-@1")
		s.must(registry.Op{Kind: registry.Delete, Path: root + "/instances/10.0.0.1@-@1"})
		if _, err := Back("ns", "job", s.nodes()); err == nil || !strings.Contains(err.Error(), "a member has joined it since") {
			t.Errorf("a member that has left: %v", err)
		}
	})
}

// Going back does not lose an operator's changes since the migration.
func TestBackKeepsChanges(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, r recording, to string, nodes map[string]string) {
		for _, path := range []string{"config", "servers/10.0.0.1", "wasm/paused"} {
			s := newStage(t, nodes)
			s.must(s.forward(to).Ops()...)
			op := registry.Op{Kind: registry.Set, Path: at(root, path), Data: []byte("x"), Version: registry.AnyVersion}
			if path == "wasm/paused" {
				op.Kind = registry.Create
			}
			s.must(op)
			if _, err := Back("ns", "job", s.nodes()); path == "wasm/paused" && (r.from == "2.1" || strings.HasPrefix(r.name, "ours")) {
				if err != nil { // layouts that also have our pauses
					t.Error(err)
				}
			} else if err == nil || path != "config" && !strings.Contains(err.Error(), path+" has changed since") {
				t.Errorf("%s: %v", path, err)
			}
		}
	})
	if _, err := Back("ns", "job", with(t, in21, nil).nodes()); !errors.Is(err, ErrNone) {
		t.Errorf("no migration: %v", err)
	}
	s := with(t, in21, map[string]string{"wasm": "", "wasm/migration": `{"v":1,"from":"1","to":"3","nodes":{}}`})
	if _, err := Back("ns", "job", s.nodes()); err == nil || !strings.Contains(err.Error(), "tells of layout 3, and it is of layout 2.1") {
		t.Errorf("another one: %v", err)
	}
}

// A setting that the later layout cannot hold is named, and one that it spells differently
// is kept.
func TestNotes(t *testing.T) {
	t.Parallel()
	const begin = `{"jobName":"job","jobClass":"a.B","jobType":"SIMPLE","cron":"0 0 0 1 1 ? 1970","shardingTotalCount":2,`
	for name, c := range map[string]struct {
		of     recording
		change map[string]string
		to     string
		notes  []string
		has    map[string]string
	}{
		"all servers paused": {in1, map[string]string{"servers/10.0.0.1/paused": "", "servers/10.0.0.2/disabled": ""}, "2.1", nil, map[string]string{
			"servers/10.0.0.1": "", "servers/10.0.0.2": "DISABLED", "wasm/paused": `{"v":1,"why":"its servers were paused in layout 1"}`}},
		"nobody could run": {in1, map[string]string{"servers/10.0.0.1/paused": "", "servers/10.0.0.2/paused": "-", "servers/10.0.0.2/disabled": ""}, "2.1", nil, map[string]string{
			"servers/10.0.0.2": "DISABLED", "wasm/paused": `{"v":1,"why":"its servers were paused in layout 1"}`}},
		"an untyped dataflow": {recording{"ej10/stop", "1"}, map[string]string{"offset": "", "offset/1": "7", "offset/0": "", "execution/2/misfire": "",
			"config/concurrentDataProcessThreadCount": "4", "config/fetchDataCount": "100", "config/other": "", "servers/10.0.0.1/stoped": "-", "servers/10.0.0.2/trigger": ""}, "3",
			[]string{
				"config/jobType: releases before 1.1 write none; by what its members have left it is DATAFLOW",
				"config/fetchDataCount: no later layout has it; servers of ours take fetch_count = 100 from their file",
				"config/concurrentDataProcessThreadCount: no later layout has it; servers of ours take concurrency = 4 from their file",
				"config/other: it is no key of a job of this type",
				"servers/10.0.0.2/trigger: no later layout has it",
			},
			map[string]string{"sharding/2/misfire": "", "wasm/items/1/state": `{"v":1,"values":{"offset":"Nw=="}}`}},
		"a strategy of layout 1": {in1, map[string]string{"config/jobShardingStrategyClass": "com.dangdang.ddframe.job.plugin.sharding.strategy.OdevitySortByNameJobShardingStrategy", "servers/10.0.0.2/paused": "-",
			"execution/0/lastBeginTime": "-", "execution/1/lastBeginTime": "-", "execution/2/lastBeginTime": "-", "execution/3/lastBeginTime": "-"}, "2.1",
			[]string{"execution: it has no last instants, so what came until a server joins has no row"}, map[string]string{
				"config": `{"jobName":"job","jobClass":"recorder.Work","jobType":"SIMPLE","cron":"0/10 * * * * ?","shardingTotalCount":4,"shardingItemParameters":"0\u003da,1\u003db,2\u003dc,3\u003dd","jobParameter":"p","failover":false,"misfire":true,"description":"","jobProperties":{"job_exception_handler":"com.dangdang.ddframe.job.executor.handler.impl.DefaultJobExceptionHandler","executor_service_handler":"com.dangdang.ddframe.job.executor.handler.impl.DefaultExecutorServiceHandler"},"monitorExecution":true,"maxTimeDiffSeconds":-1,"monitorPort":-1,"jobShardingStrategyClass":"com.dangdang.ddframe.job.lite.api.strategy.impl.OdevitySortByNameJobShardingStrategy","reconcileIntervalMinutes":10,"disabled":false,"overwrite":false}`}},
		"what layout 3 has not": {in21, map[string]string{"sharding/1/disabled": "", "config": begin + `"monitorPort":9888,"jobShardingStrategyClass":"a.Strategy","jobProperties":{"job_exception_handler":"a.Handler","executor_service_handler":"a.Threads"},"disabled":true,"ours":1}`}, "3",
			[]string{
				"jobProperties.job_exception_handler: layout 3 names types, no classes; a.Handler is left out",
				"jobProperties.executor_service_handler: layout 3 names types, no classes; a.Threads is left out",
				"monitorPort: layout 3 has none; 9888 is left out",
				"jobShardingStrategyClass: layout 3 names types; members of ElasticJob need a strategy of the type a.Strategy",
				"ours: no release of ElasticJob knows the key, and layout 3 refuses such; it is left out",
			},
			map[string]string{"": "a.B", "sharding/1/disabled": "", "config": "description: ''\ndisabled: true\nfailover: false\njobName: job\njobParameter: ''\njobShardingStrategyType: a.Strategy\nmaxTimeDiffSeconds: -1\nmisfire: false\nmonitorExecution: true\noverwrite: false\nreconcileIntervalMinutes: 10\nshardingItemParameters: ''\nshardingTotalCount: 2\nstaticSharding: false\n"}},
		"keys in a lenient text": {in21, map[string]string{"config": "\ufeff" + strings.TrimSuffix(begin, ",") + `/* ours */;'b c'=1,"a":[1,{}],"a":2}`}, "3",
			[]string{"a: no release of ElasticJob knows the key, and layout 3 refuses such; it is left out", "b c: no release of ElasticJob knows the key, and layout 3 refuses such; it is left out"}, nil},
		"the most minutes": {in21, map[string]string{"config": begin + `"reconcileIntervalMinutes":2147483647}`}, "3", nil,
			map[string]string{"config": "description: ''\ndisabled: false\nfailover: false\njobName: job\njobParameter: ''\nmaxTimeDiffSeconds: -1\nmisfire: false\nmonitorExecution: true\noverwrite: false\nreconcileIntervalMinutes: 153722867\nshardingItemParameters: ''\nshardingTotalCount: 2\nstaticSharding: false\n"}},
		"a script": {in21, map[string]string{"config": `{"jobName":"job","jobClass":"com.dangdang.ddframe.job.api.script.ScriptJob","jobType":"SCRIPT","cron":"0 * * * * ?","shardingTotalCount":1,"scriptCommandLine":"a.sh"}`}, "3", nil,
			map[string]string{"": "SCRIPT"}},
		"a script of layout 1": {in1, map[string]string{"config/jobType": "SCRIPT", "config/scriptCommandLine": "a.sh", "servers/10.0.0.2/paused": "-"}, "3", nil, map[string]string{"": "SCRIPT"}},
	} {
		s := with(t, c.of, c.change)
		p := s.forward(c.to)
		if d := cmp.Diff(c.notes, p.Notes); d != "" {
			t.Errorf("%s: %s", name, d)
		}
		s.must(p.Ops()...)
		have := s.data()
		for path, data := range c.has {
			if is, there := have[path]; !there || is != data {
				t.Errorf("%s: %s has %q, want %q", name, path, is, data)
			}
		}
	}
}
