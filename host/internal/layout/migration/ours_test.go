package migration

import (
	"maps"
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wasmjob/wasmjob/host/internal/layout/spelling"
	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/registry"
)

// leftByOurs is a job that servers of ours have run after the recorded members, and one of
// ours ended during a run. Members of ElasticJob have begun item 1 since.
func leftByOurs(nodes func(t *testing.T) map[string]string) func(t *testing.T) map[string]string {
	return func(t *testing.T) map[string]string {
		t.Helper()
		all := nodes(t)
		state, err := spelling.EncodeState(map[string][]byte{"offset": []byte("x0"), "sum": []byte("7")})
		if err != nil {
			t.Fatal(err)
		}
		run := protocol.Entry{Item: 2, Instant: 1795898640000, Cause: protocol.Scheduled, Attempt: 1, Begun: 1795898640001}
		waits := run
		waits.Item = 0
		maps.Copy(all, map[string]string{
			"wasm": "", "wasm/members": "", "wasm/runs": "", "wasm/items": "", "wasm/items/1": "", "wasm/items/1/state": string(state),
			"wasm/module":             `{"v":1}`,
			"wasm/assignment":         string(spelling.EncodeAssignment(&protocol.Assignment{Total: 2, Members: []protocol.ID{ours}, Owners: []protocol.ID{ours, ours}, Last: []int64{1795898640000, 1795898600000}})),
			"wasm/runs/" + ours:       string(spelling.EncodeRuns(&protocol.RunsData{Open: []protocol.Entry{run}, Last: []int64{0, 0, run.Instant}})),
			"leader/failover":         "",
			"leader/failover/items":   "",
			"leader/failover/items/0": string(spelling.EncodePending(&protocol.Pending{Entry: waits})),
			"execution/3/disabled":    "",
			"servers/10.0.0.1/color":  "red", // an unknown node
		})
		delete(all, "execution/0/nextFireTime") // a server of ours began it last
		return all
	}
}

const ours = "10.0.0.1@-@7"

// The nodes of our servers go along unchanged. Members of ElasticJob have begun item 1
// since and kept another offset, which counts.
func TestWhatOursHaveLeft(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, r recording, to string, nodes map[string]string) {
		if _, ran := nodes["wasm/members"]; !ran {
			return
		}
		s := newStage(t, nodes)
		p := s.forward(to)
		s.must(p.Ops()...)
		v, data := s.view(to), s.data()
		began, err := strconv.ParseInt(nodes["execution/1/lastBeginTime"], 10, 64)
		if d := cmp.Diff([]int64{1795898640000, began}, v.Assignment.Last[:2]); d != "" || err != nil {
			t.Errorf("accounted for is %s, %v", d, err)
		}
		if !v.Items[3].Disabled || v.Pending[0].Entry.Instant != 1795898640000 || !slices.Contains(p.Notes, "execution: members of ElasticJob began items after servers of ours had; what they ran has no row") {
			t.Errorf("%+v, %+v, %q", v.Items, v.Pending, p.Notes)
		}
		for path, was := range nodes {
			changed := path == "wasm/assignment" || path == "wasm/items/1/state" && r.from == "1"
			if is, there := data[path]; within(path, "wasm", "leader/failover") && (!there || (is != was) != changed) {
				t.Errorf("%s was %s and is %s", path, was, is)
			}
		}
		if is, err := spelling.DecodeState(registry.Node{Exists: true, Data: []byte(data["wasm/items/1/state"])}); err != nil || string(is["sum"]) != "7" || r.from == "1" && string(is["offset"]) != nodes["offset/1"] {
			t.Errorf("%v, %v", is, err)
		}
	})
}

// A server of ours may have ended before it wrote an assignment. Going back also undoes
// what the migration accounted for.
func TestBackWithoutAssignment(t *testing.T) {
	t.Parallel()
	nodes := recordings[recording{"ours/flow", "1"}](t)
	delete(nodes, "wasm/assignment")
	s := newStage(t, nodes)
	before := s.data()
	s.must(s.forward("3").Ops()...)
	s.must(s.back().Ops()...)
	if d := cmp.Diff(before, s.data()); d != "" {
		t.Errorf("after the way back: %s", d)
	}
}

// An earlier release of ours kept the offset only as state, after a member of ElasticJob
// had left another offset in its node.
func TestNewestOffset(t *testing.T) {
	t.Parallel()
	nodes := recordings[recording{"ours/flow", "1"}](t)
	s := newStage(t, nodes)
	state, err := spelling.EncodeState(map[string][]byte{"offset": []byte("x9")})
	if err != nil {
		t.Fatal(err)
	}
	s.must(registry.Op{Kind: registry.Set, Path: at(root, "wasm/items/1/state"), Data: state, Version: registry.AnyVersion})
	s.must(s.forward("3").Ops()...)
	if is, err := spelling.DecodeState(s.nodes()["wasm/items/1/state"]); err != nil || string(is["offset"]) != "x9" {
		t.Errorf("it is %q, %v", is, err)
	}
}
