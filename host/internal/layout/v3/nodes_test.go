package v3

import (
	"slices"
	"strings"
	"testing"

	"github.com/wasmjob/wasmjob/host/internal/layout/jobtree"
	"github.com/wasmjob/wasmjob/host/internal/layout/spelling"
	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/registry"
)

const me = "10.0.0.1@-@1"

// Transactions have the nodes of layout 3. A request that waits is not written again, since
// its node exists.
func TestTransactions(t *testing.T) {
	t.Parallel()
	asked, idle := protocol.Instance{ID: me, Owner: 1, Version: 7, Request: 9}, protocol.Instance{ID: me, Owner: 1, Version: 7}
	for name, c := range map[string]struct {
		m    protocol.Mutation
		in   protocol.Instance
		fail bool // the setting failover
		want []registry.Op
	}{
		"an instance":                {m: protocol.Join{ID: "10.0.0.2@-@5"}, want: []registry.Op{{Kind: registry.CreateEphemeral, Path: "instances/10.0.0.2@-@5", Data: []byte("jobInstanceId: 10.0.0.2@-@5\nserverIp: 10.0.0.2\n")}}},
		"a server":                   {m: protocol.SetServer{IP: "10.0.0.2"}, want: []registry.Op{{Kind: registry.Create, Path: "servers/10.0.0.2", Data: []byte("ENABLED")}}},
		"a disabled one":             {m: protocol.Join{ID: "10.0.0.2@-@5", Disabled: true}, want: []registry.Op{{Kind: registry.Create, Path: "servers/10.0.0.2", Data: []byte("DISABLED")}}},
		"a request":                  {m: protocol.RequestTrigger{To: []job.InstanceID{me}}, in: idle, want: []registry.Op{{Kind: registry.Create, Path: "trigger"}, {Kind: registry.Create, Path: "trigger/" + me}}},
		"a request beside one":       {m: protocol.RequestTrigger{To: []job.InstanceID{me}}, in: asked, want: []registry.Op{{Kind: registry.Check, Path: "trigger/" + me, Version: registry.AnyVersion}}},
		"its answer":                 {m: protocol.Begin{Self: me, Ack: true}, in: asked, want: []registry.Op{{Kind: registry.Delete, Path: "trigger/" + me, Version: registry.AnyVersion}}},
		"who leaves":                 {m: protocol.Leave{Self: me}, in: idle, want: []registry.Op{{Kind: registry.Absent, Path: "trigger/" + me}, {Kind: registry.Delete, Path: "instances/" + me, Version: 7}}},
		"who leaves and was asked":   {m: protocol.Leave{Self: me}, in: asked, want: []registry.Op{{Kind: registry.Delete, Path: "trigger/" + me, Version: registry.AnyVersion}, {Kind: registry.Delete, Path: "instances/" + me, Version: 7}}},
		"a mark":                     {m: protocol.Begin{Self: me, Begun: []int{0}, Monitor: true}, in: idle, want: []registry.Op{{Kind: registry.CreateEphemeral, Path: "sharding/0/running", Data: []byte(me)}}},
		"a mark with failover":       {m: protocol.Begin{Self: me, Begun: []int{0}, Monitor: true}, in: idle, fail: true, want: []registry.Op{{Kind: registry.Create, Path: "sharding/0/running", Data: []byte(me)}}},
		"a configuration":            {m: protocol.Setup{Definition: protocol.Definition{Config: spelling.Text([]byte("a.B\njobName: j\n"))}}, in: idle, want: []registry.Op{{Kind: registry.Create, Path: "config", Data: []byte("jobName: j\n")}, {Kind: registry.Set, Path: "", Data: []byte("a.B"), Version: registry.AnyVersion}}},
		"a configuration by another": {m: protocol.PutConfig{Config: spelling.Text([]byte("a.B\nc"))}, in: idle, want: []registry.Op{{Kind: registry.Set, Path: "config", Data: []byte("c"), Version: 3}, {Kind: registry.Set, Path: "", Data: []byte("a.B"), Version: 4}}},
	} {
		v := &protocol.View{
			ConfigVersion: "3/4", Servers: []protocol.Server{{IP: "10.0.0.1"}}, Instances: []protocol.Instance{c.in},
			Runs: []protocol.Runs{{ID: me, RunsData: &protocol.RunsData{}}}, Items: []protocol.Item{{Exists: true, Owner: me}},
			Assignment: protocol.Assignment{Exists: true, Total: 1, Members: []protocol.ID{me}, Owners: []protocol.ID{me}},
		}
		if c.fail {
			v.Config = &protocol.Config{Failover: true}
		}
		ops := NewJob("n", "j").Encode(c.m, v)
		for _, want := range c.want {
			want.Path = strings.TrimSuffix("/n/j/"+want.Path, "/")
			if !slices.ContainsFunc(ops, func(op registry.Op) bool {
				return op.Kind == want.Kind && op.Path == want.Path && string(op.Data) == string(want.Data) && op.Version == want.Version
			}) {
				t.Errorf("%s: there is no %+v in %+v", name, want, ops)
			}
		}
	}
}

// A job that is not of layout 3 has a fault that says so.
func TestFaults(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ class, config, want string }{
		"layout 2.1":      {"", `{"jobName":"j"}`, "/n/j/config: it seems to be JSON, a job of layout 2.1"},
		"an unknown key":  {"a.B", minimal + "jobClass: a.B\n", "line 3, column 1"},
		"another job":     {"a.B", "jobName: k\nshardingTotalCount: 1\n", `expected the job "j", it is that of "k"`},
		"nothing":         {"a.B", "", "it is empty, expected the YAML of layout 3"},
		"a control sign":  {"a\tb", minimal, "/n/j: expected a class, SCRIPT or HTTP"},
		"a time zone":     {"a.B", minimal + "timeZone: Europe/Berlin\n", `timeZone "Europe/Berlin": expected GMT, or an offset`},
		"item parameters": {"a.B", minimal + "shardingItemParameters: a\n", "shardingItemParameters"},
	} {
		d := NewJob("n", "j").NewDecoder(nil)
		d.Apply("/n/j", registry.Node{Exists: true, Data: []byte(c.class)})
		d.Apply("/n/j/config", registry.Node{Exists: true, Data: []byte(c.config)})
		if v := d.View(); v.Config != nil || !strings.Contains(v.ConfigFault, c.want) {
			t.Errorf("%s: %+v, %q, want %q", name, v.Config, v.ConfigFault, c.want)
		}
	}
}

// Values that may be secrets are not shown.
func TestMasked(t *testing.T) {
	t.Parallel()
	j := NewJob("n", "j")
	got := j.Masked(j.At(jobtree.NodeConfig), []byte(minimal+extra+"props:\n  email.password: secret\n"))
	if strings.Contains(got, "secret") || strings.Contains(got, "RDB") || !strings.Contains(got, "email.password: '***'") || !strings.Contains(got, "jobName: j") {
		t.Errorf("it shows\n%s", got)
	}
	if got := j.Masked(j.At(jobtree.NodeConfig), []byte("password: &a b")); got != "(14 bytes that cannot be read)" {
		t.Errorf("it shows %s", got)
	}
}
