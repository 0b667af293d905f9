package jobtree_test

import (
	"testing"

	"github.com/wasmjob/wasmjob/host/internal/layout/jobtree"
	"github.com/wasmjob/wasmjob/host/internal/layout/spelling"
	"github.com/wasmjob/wasmjob/host/internal/layout/v21"
	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/registry"
)

func TestRelaxed(t *testing.T) {
	t.Parallel()
	const me = "10.0.0.1@-@1"
	j := v21.NewJob("a/b", "x")
	v := &protocol.View{
		Exists:     true,
		Config:     &protocol.Config{Total: 1},
		Servers:    []protocol.Server{{IP: "10.0.0.1"}},
		Instances:  []protocol.Instance{{ID: me, Owner: 1}},
		Members:    []protocol.Member{{ID: me, Owner: 1}},
		Runs:       []protocol.Runs{{ID: me, RunsData: &protocol.RunsData{}}},
		Items:      []protocol.Item{{Exists: true, Owner: me, Running: 1}},
		Assignment: protocol.Assignment{Exists: true, Total: 1, Members: []protocol.ID{me}, Owners: []protocol.ID{me}},
	}
	for _, c := range []struct {
		m    protocol.Mutation
		want bool
	}{
		{protocol.Begin{Self: me, Begun: []int{0}, Monitor: true}, true},
		{protocol.Begin{Self: me, Begun: []int{0}, Unmark: []int{0}, DeletePending: []int{0}, Ack: true}, true},
		{protocol.Complete{Self: me, Items: []int{0}}, true},
		{protocol.Forget{Self: me}, true},
		{protocol.RecordMissed{ID: me}, true},
		{protocol.RecordMissed{ID: "10.0.0.9@-@1"}, true},
		{protocol.MarkMisfire{Items: []int{0}}, true},
		{protocol.MarkReshard{}, true},
		{protocol.Reshard{Check: []protocol.ID{me}, Next: v.Assignment}, true},
		{protocol.Take{Self: me, Items: []int{0}, Monitor: true}, true},
		{protocol.Reclaim{Self: me, Dead: "d", Pend: []protocol.Pending{{Item: 0, Dead: "d"}}}, true},
		{protocol.Elect{ID: me}, true},
		{protocol.Leave{Self: me}, true},
		{protocol.Join{ID: me}, true},
		{protocol.Join{ID: "10.0.0.2@-@1"}, false}, // it creates a server's node, which belongs to operators
		{protocol.PutConfig{Config: spelling.Text([]byte("{}"))}, false},
		{protocol.Define{Definition: protocol.Definition{Module: spelling.Text([]byte("{}"))}}, false},
		{protocol.SetPaused{Paused: true}, false},
		{protocol.DisableItem{Item: 0, Disabled: true}, false},
		{protocol.DisableServer{IP: "10.0.0.1", Disabled: true}, false},
		{protocol.PruneServers{IPs: []string{"10.0.0.1"}}, false},
	} {
		if got := jobtree.Relaxed(j.Encode(c.m, v)); got != c.want {
			t.Errorf("%s: relaxed %v, want %v", c.m.Name(), got, c.want)
		}
	}
	if jobtree.Relaxed(j.Encode(protocol.Setup{Definition: protocol.Definition{Config: spelling.Text([]byte("{}"))}}, &protocol.View{})) {
		t.Error("the transaction that writes config is relaxed")
	}
}

func TestRelaxedWhateverTheNames(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"config", "instances", "sharding", "wasm", "runs", "leader", "servers"} {
		for _, ns := range []string{"x", "sharding", "instances/wasm"} {
			j := v21.NewJob(ns, name)
			for _, path := range []string{j.At(jobtree.NodeConfig), j.At(jobtree.NodePaused), j.At(jobtree.NodeModule), j.At(jobtree.NodeServers + "/::1"), j.Item(3, jobtree.MarkDisabled)} {
				if jobtree.Relaxed([]registry.Op{{Kind: registry.Set, Path: path}}) {
					t.Errorf("%s is relaxed", path)
				}
			}
		}
	}
	if jobtree.Relaxed([]registry.Op{{Kind: registry.Create, Path: "/ns/job/unknown"}}) {
		t.Error("an unknown node is relaxed")
	}
}
