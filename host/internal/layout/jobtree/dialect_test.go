package jobtree_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/wasmjob/wasmjob/host/internal/definition"
	"github.com/wasmjob/wasmjob/host/internal/layout/jobtree"
	"github.com/wasmjob/wasmjob/host/internal/layout/spelling"
	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/registry"
)

// otherDialect differs from all layouts wherever a dialect may: requests are nodes of their
// own, marks are persistent, and values are words.
type otherDialect struct{ jobtree.OneNode }

func (otherDialect) Name() string                                     { return "other" }
func (otherDialect) Root(registry.Node) error                         { return nil }
func (otherDialect) FromJob(job.Config) definition.Config             { return nil }
func (otherDialect) Added() *jobtree.Added                            { return nil }
func (otherDialect) Parse([]byte) (definition.Config, error)          { return nil, errors.New("not this one") }
func (otherDialect) Update([]byte, definition.Config) ([]byte, error) { return nil, nil }
func (otherDialect) Rules(definition.Config) protocol.Config          { return protocol.Config{} }
func (otherDialect) Mask([]byte) string                               { return "masked" }
func (otherDialect) Disabled(n registry.Node) bool                    { return string(n.Data) == "off" }
func (otherDialect) Requested(registry.Node) bool                     { return false }
func (otherDialect) request(j jobtree.Job, in protocol.Instance) string {
	return j.At("asked/" + string(in.ID))
}
func (otherDialect) Register(j jobtree.Job, id job.InstanceID) []registry.Op {
	return []registry.Op{{Kind: registry.CreateEphemeral, Path: j.At("here/" + id.IP()), Data: []byte("id: " + string(id))}}
}
func (otherDialect) Running(j jobtree.Job, self job.InstanceID, i int, _ bool) registry.Op {
	return registry.Op{Kind: registry.Create, Path: j.Item(i, jobtree.MarkRunning), Data: []byte(self)}
}

func (otherDialect) Server(disabled bool) string {
	if disabled {
		return "off"
	}
	return "on"
}

func (d otherDialect) Unregister(j jobtree.Job, in protocol.Instance) []registry.Op {
	return append(d.Unasked(j, in), registry.Op{Kind: registry.Delete, Path: j.Instance(in.ID), Version: registry.AnyVersion})
}

func (d otherDialect) Request(j jobtree.Job, in protocol.Instance, asked bool) []registry.Op {
	if asked {
		return []registry.Op{{Kind: registry.Create, Path: d.request(j, in)}}
	}
	return []registry.Op{{Kind: registry.Delete, Path: d.request(j, in), Version: 3}}
}

func (d otherDialect) Unasked(j jobtree.Job, in protocol.Instance) []registry.Op {
	return []registry.Op{{Kind: registry.Absent, Path: d.request(j, in)}}
}

// Where a dialect differs, transactions have nothing of layout 2.1. The fences are the same
// in any dialect.
func TestTransactionsAskTheirDialect(t *testing.T) {
	t.Parallel()
	const me = "10.0.0.1@-@1"
	j := jobtree.New(otherDialect{}, "n", "j")
	v := &protocol.View{
		Servers:    []protocol.Server{{IP: "10.0.0.1", Version: 5}},
		Instances:  []protocol.Instance{{ID: me, Owner: 1, Version: 7}},
		Runs:       []protocol.Runs{{ID: me, RunsData: &protocol.RunsData{}}},
		Items:      []protocol.Item{{Exists: true, Owner: me}},
		Assignment: protocol.Assignment{Exists: true, Total: 1, Members: []protocol.ID{me}, Owners: []protocol.ID{me}},
	}
	for name, c := range map[string]struct {
		m       protocol.Mutation
		without string
		want    registry.Op
		none    bool // there must be no such operation
	}{
		"a server that is new":     {m: protocol.SetServer{IP: "10.0.0.2"}, want: registry.Op{Kind: registry.Create, Path: "/n/j/servers/10.0.0.2", Data: []byte("on")}},
		"who joins disabled":       {m: protocol.Join{ID: "10.0.0.3@-@1", Disabled: true}, want: registry.Op{Kind: registry.Create, Path: "/n/j/servers/10.0.0.3", Data: []byte("off")}},
		"an instance":              {m: protocol.Join{ID: "10.0.0.3@-@1"}, want: registry.Op{Kind: registry.CreateEphemeral, Path: "/n/j/here/10.0.0.3", Data: []byte("id: 10.0.0.3@-@1")}},
		"an operator's word":       {m: protocol.DisableServer{IP: "10.0.0.1", Disabled: true}, want: registry.Op{Kind: registry.Set, Path: "/n/j/servers/10.0.0.1", Data: []byte("off"), Version: 5}},
		"a request":                {m: protocol.RequestTrigger{To: []protocol.ID{me}}, want: registry.Op{Kind: registry.Create, Path: "/n/j/asked/" + me}},
		"its answer":               {m: protocol.Begin{Self: me, Ack: true}, want: registry.Op{Kind: registry.Delete, Path: "/n/j/asked/" + me, Version: 3}},
		"an answer without fence":  {m: protocol.Begin{Self: me, Ack: true}, without: "begin/request", want: registry.Op{Kind: registry.Delete, Path: "/n/j/asked/" + me, Version: registry.AnyVersion}},
		"a mark":                   {m: protocol.Begin{Self: me, Begun: []int{0}, Monitor: true}, want: registry.Op{Kind: registry.Create, Path: "/n/j/sharding/0/running", Data: []byte(me)}},
		"a mark of a taker":        {m: protocol.Take{Self: me, Items: []int{0}, Monitor: true}, want: registry.Op{Kind: registry.Create, Path: "/n/j/sharding/0/running", Data: []byte(me)}},
		"who leaves":               {m: protocol.Leave{Self: me}, want: registry.Op{Kind: registry.Absent, Path: "/n/j/asked/" + me}},
		"who leaves without fence": {m: protocol.Leave{Self: me}, without: "leave/requests", want: registry.Op{Kind: registry.Absent, Path: "/n/j/asked/" + me}, none: true},
		"whose items move":         {m: protocol.Reshard{Moving: []protocol.ID{me}, Next: v.Assignment}, want: registry.Op{Kind: registry.Absent, Path: "/n/j/asked/" + me}},
		"a configuration":          {m: protocol.PutConfig{Config: spelling.Text([]byte("c"))}, want: registry.Op{Kind: registry.Set, Path: "/n/j/config", Data: []byte("c"), Version: 1<<31 - 1}},
	} {
		ops := j.Without(c.without).Encode(c.m, v)
		has := slices.ContainsFunc(ops, func(op registry.Op) bool {
			return op.Kind == c.want.Kind && op.Path == c.want.Path && string(op.Data) == string(c.want.Data) && op.Version == c.want.Version
		})
		if has == c.none {
			t.Errorf("%s: %+v, want %+v", name, ops, c.want)
		}
	}
	d := j.NewDecoder(nil)
	d.Apply("/n/j/servers", registry.Node{Exists: true, Children: []string{"10.0.0.1"}})
	d.Apply("/n/j/servers/10.0.0.1", registry.Node{Exists: true, Data: []byte("off")})
	d.Apply("/n/j/config", registry.Node{Exists: true, Data: []byte("c")})
	if v := d.View(); len(v.Servers) != 1 || !v.Servers[0].Disabled || v.ConfigFault != "/n/j/config: not this one" || j.Masked("/n/j/config", nil) != "masked" {
		t.Errorf("it reads %+v, %q", v.Servers, v.ConfigFault)
	}
}
