package v21

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/wasmjob/wasmjob/host/internal/layout/jobtree"
	"github.com/wasmjob/wasmjob/host/internal/layout/spelling"
	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/job/recorded"
	"github.com/wasmjob/wasmjob/host/registry"
	"github.com/wasmjob/wasmjob/host/registry/tree"
)

// stage is a tree, with the view of a member that sees all of it.
type stage struct {
	t    *testing.T
	j    jobtree.Job
	tree *tree.Tree
	dec  *jobtree.Decoder
}

func newStage(t *testing.T, namespace string) *stage {
	t.Helper()
	s := &stage{t: t, j: NewJob(namespace, "job"), tree: tree.New()}
	s.dec = s.j.NewDecoder(nil)
	for _, p := range s.j.Namespace() {
		s.ops(0, registry.Op{Kind: registry.Create, Path: p})
	}
	return s
}

func (s *stage) ops(owner registry.SessionID, ops ...registry.Op) {
	s.t.Helper()
	_, changes, err := s.tree.Commit(owner, 0, ops)
	if err != nil {
		s.t.Fatal(err)
	}
	for _, c := range changes {
		s.dec.Apply(c.Path, c.Node)
	}
}

func (s *stage) commit(owner registry.SessionID, m protocol.Mutation) {
	s.t.Helper()
	s.ops(owner, s.j.Encode(m, s.dec.View())...)
}

func (s *stage) data(path string) string {
	s.t.Helper()
	n := s.tree.Get(path)
	if !n.Exists {
		s.t.Fatalf("there is no %s", path)
	}
	return string(n.Data)
}

func memberNode(j jobtree.Job, id job.InstanceID) string {
	return j.At(jobtree.NodeMembers + "/" + string(id))
}

// TestInstancesAreOrderedAsByElasticJob checks that strategies of both get the instances in
// the same order.
func TestInstancesAreOrderedAsByElasticJob(t *testing.T) {
	t.Parallel()
	seen := 0
	for _, v := range recorded.Vectors[struct {
		ID, Cat, Op string
		Keys        []string
		Want        struct{ Sorted []string }
	}](t, "strategy/order.jsonl") {
		if v.Cat != "order-instances" {
			continue // no instance has such a name
		}
		seen++
		s := newStage(t, "ns")
		for _, id := range v.Keys {
			s.dec.Apply(s.j.Instance(job.InstanceID(id)), registry.Node{Exists: true, Stat: registry.Stat{Owner: 1}})
		}
		var got []string
		for _, in := range s.dec.View().Instances {
			got = append(got, string(in.ID))
		}
		if !slices.Equal(got, v.Want.Sorted) {
			t.Errorf("%s: %q, want %q", v.ID, got, v.Want.Sorted)
		}
	}
	if seen < 20 {
		t.Errorf("%d vectors", seen)
	}
}

func TestNodesOfAStart(t *testing.T) {
	t.Parallel()
	s := newStage(t, "a/b")
	if got := s.j.Namespace(); !slices.Equal(got, []string{"/a", "/a/b"}) {
		t.Errorf("namespace %v", got)
	}
	c := Default()
	c.JobName, c.JobClass, c.JobType, c.Cron, c.ShardingTotalCount = "job", "x.Y", Simple, "0 * * * * ?", 2
	config, err := EncodeConfig(c)
	if err != nil {
		t.Fatal(err)
	}
	s.commit(7, protocol.Setup{Definition: protocol.Definition{Config: spelling.Text(config)}})
	s.commit(7, protocol.Join{ID: "10.0.0.1@-@5"})
	s.commit(7, protocol.Contend{Latch: protocol.ElectionLatch, Token: spelling.Contender(7)})
	s.commit(7, protocol.Elect{ID: "10.0.0.1@-@5", Place: s.dec.View().ElectionLatch[0].Name})
	v := s.dec.View()
	s.commit(7, protocol.Reshard{Check: []protocol.ID{"10.0.0.1@-@5"}, Next: protocol.Assignment{
		Total: 2, Members: []protocol.ID{"10.0.0.1@-@5"}, Owners: []protocol.ID{"10.0.0.1@-@5", "10.0.0.1@-@5"}, Last: []int64{3, 3},
	}})
	if !v.Necessary || v.Config == nil || v.Config.Total != 2 || v.ConfigFault != "" || len(v.Servers) != 1 || !v.Assignment.Exists {
		t.Errorf("after the join the view is %+v", v)
	}
	for path, want := range map[string]string{
		"/a/b/job":                           "",
		"/a/b/job/config":                    string(config),
		"/a/b/job/servers/10.0.0.1":          "",
		"/a/b/job/instances/10.0.0.1@-@5":    "",
		"/a/b/job/leader/election/instance":  "10.0.0.1@-@5",
		"/a/b/job/leader/election/latch":     "",
		"/a/b/job/leader/sharding":           "",
		"/a/b/job/sharding/0/instance":       "10.0.0.1@-@5",
		"/a/b/job/sharding/1/instance":       "10.0.0.1@-@5",
		"/a/b/job/wasm/members/10.0.0.1@-@5": `{"v":1,"params":true}`,
		"/a/b/job/wasm/runs/10.0.0.1@-@5":    `{"v":1,"seq":0}`,
		"/a/b/job/wasm/assignment":           `{"v":1,"total":2,"members":["10.0.0.1@-@5"],"owners":[[0,1,0]],"last":[[0,1,3]]}`,
	} {
		if got := s.data(path); got != want {
			t.Errorf("%s is %q, want %q", path, got, want)
		}
	}
	for path, owner := range map[string]registry.SessionID{
		"/a/b/job/instances/10.0.0.1@-@5": 7, "/a/b/job/leader/election/instance": 7, "/a/b/job/wasm/members/10.0.0.1@-@5": 7,
		"/a/b/job/wasm/runs/10.0.0.1@-@5": 0, "/a/b/job/sharding/0/instance": 0, "/a/b/job/servers/10.0.0.1": 0,
	} {
		if got := s.tree.Get(path).Stat.Owner; got != owner {
			t.Errorf("%s belongs to session %d, want %d", path, got, owner)
		}
	}
	if s.tree.Get("/a/b/job/leader/sharding/necessary").Exists {
		t.Error("the reshard mark is left")
	}
}

// Nodes of other programs in the tree are not read as items, and do not stop a job.
func TestForeignNodes(t *testing.T) {
	t.Parallel()
	s := newStage(t, "n")
	root := s.j.Root()
	for _, p := range []string{"", "/sharding", "/sharding/x", "/sharding/01", "/sharding/-1", "/sharding/999999", "/sharding/2", "/sharding/2/later", "/leader", "/leader/failover", "/leader/failover/items", "/leader/failover/items/2", "/leader/failover/items/two"} {
		s.ops(0, registry.Op{Kind: registry.Create, Path: root + p})
	}
	v := s.dec.View()
	if len(v.Items) != 3 || v.Items[0].Exists || !v.Items[2].Exists {
		t.Errorf("items %+v", v.Items)
	}
	if len(v.Pending) != 1 || !v.Pending[0].Foreign || v.Pending[0].Item != 2 {
		t.Errorf("pending %+v", v.Pending)
	}
	kids := s.j.Below("sharding", s.tree.Get(root+"/sharding"))
	if len(kids) != 5 || kids[0] != "sharding/2/instance" {
		t.Errorf("follows %v", kids)
	}
}

func TestFaultsNameTheNode(t *testing.T) {
	t.Parallel()
	s := newStage(t, "n")
	root := s.j.Root()
	s.ops(0, registry.Op{Kind: registry.Create, Path: root})
	s.ops(0, registry.Op{Kind: registry.Create, Path: root + "/config"})
	const good = `{"jobName":"job","jobClass":"x","jobType":"SIMPLE","cron":"0 0 0 1 1 ? 1970","shardingTotalCount":1}`
	for _, c := range []struct{ text, fault string }{
		{"", "it is empty"},
		{"cron: yaml", "layout 3"},
		{strings.Replace(good, `:1}`, `:100001}`, 1), "shardingTotalCount 100001 is more than 100000"},
		{strings.Replace(good, `"job"`, `"other"`, 1), `expected the job "job", it is that of "other"`},
		{strings.Replace(good, `}`, `,"shardingItemParameters":"0=a,,1=b"}`, 1), "shardingItemParameters: item parameters: \"\" is not item=parameter"},
	} {
		s.ops(0, registry.Op{Kind: registry.Set, Path: root + "/config", Data: []byte(c.text), Version: registry.AnyVersion})
		v := s.dec.View()
		if v.Config != nil || !strings.HasPrefix(v.ConfigFault, root+"/config: ") || !strings.Contains(v.ConfigFault, c.fault) {
			t.Errorf("the config %q is read as %+v, fault %q, want %q", c.text, v.Config, v.ConfigFault, c.fault)
		}
	}
	s.ops(0, registry.Op{Kind: registry.Set, Path: root + "/config", Data: []byte(good), Version: registry.AnyVersion})
	if v := s.dec.View(); v.ConfigFault != "" || v.Config == nil || v.Config.Cron != "" {
		t.Errorf("the repaired, manual config is %+v, fault %q", v.Config, v.ConfigFault)
	}
}

func TestLabelsOfMembers(t *testing.T) {
	t.Parallel()
	s := newStage(t, "ns")
	c := Default()
	c.JobName, c.JobClass, c.JobType, c.Cron, c.ShardingTotalCount = "job", "x.Y", Simple, "0 * * * * ?", 1
	config, err := EncodeConfig(c)
	if err != nil {
		t.Fatal(err)
	}
	s.commit(7, protocol.Setup{Definition: protocol.Definition{Config: spelling.Text(config)}})
	s.commit(7, protocol.Join{ID: "10.0.0.1@-@1", Labels: map[string]string{"zone": "a", "b<c": "ü"}})
	s.commit(8, protocol.Join{ID: "10.0.0.2@-@1"})
	for id, want := range map[job.InstanceID]string{"10.0.0.1@-@1": `{"v":1,"labels":{"b\u003cc":"ü","zone":"a"},"params":true}`, "10.0.0.2@-@1": `{"v":1,"params":true}`} {
		if got := s.data(memberNode(s.j, id)); got != want {
			t.Errorf("%s: %s, want %s", id, got, want)
		}
	}
	for id, data := range map[string]string{"10.0.0.3@-@1": "", "10.0.0.4@-@1": "{", "10.0.0.5@-@1": `{"v":2,"labels":{"a":"b"}}`} {
		s.ops(9, registry.Op{Kind: registry.CreateEphemeral, Path: memberNode(s.j, job.InstanceID(id)), Data: []byte(data)})
	}
	v := s.dec.View()
	if len(v.Members) != 5 || v.RecordFault != "" {
		t.Fatalf("members %+v, %s", v.Members, v.RecordFault)
	}
	if got := v.Members[0].Labels; !maps.Equal(got, map[string]string{"zone": "a", "b<c": "ü"}) {
		t.Errorf("labels %v", got)
	}
	for _, m := range v.Members[1:] {
		if m.Labels != nil {
			t.Errorf("%s has the labels %v", m.ID, m.Labels)
		}
	}
}
