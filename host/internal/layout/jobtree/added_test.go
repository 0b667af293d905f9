package jobtree_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/wasmjob/wasmjob/host/internal/layout/jobtree"
	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/registry"
)

// added is a dialect with everything that one may add.
type added struct{ otherDialect }

var everything = jobtree.Adding(jobtree.Added{Root: true, Trigger: true, Failovering: true})

func (added) Added() *jobtree.Added { return everything }

func (added) Text(in jobtree.Kept) []byte { return slices.Concat(in.Root.Data, in.Config.Data) }

const (
	alive = "10.0.0.1@-@1"
	gone  = "10.0.0.2@-@2"
)

// twoItems returns the decoder of a job with two items and one member.
func twoItems() (jobtree.Job, *jobtree.Decoder) {
	j := jobtree.New(added{}, "n", "j")
	d := j.NewDecoder(nil)
	apply(d, "", registry.Node{Children: []string{"wasm"}})
	apply(d, "sharding", registry.Node{Children: []string{"0", "1"}})
	apply(d, "instances/"+alive, registry.Node{Stat: registry.Stat{Owner: 7}})
	apply(d, "wasm/members/"+alive, registry.Node{Stat: registry.Stat{Owner: 7}})
	return j, d
}

func apply(d *jobtree.Decoder, name string, n registry.Node) {
	n.Exists = true
	d.Apply(strings.TrimSuffix("/n/j/"+name, "/"), n)
}

// A mark can be cleared whatever member it names. No server can have an address that is no name of a node.
func TestMarksThatNameNoMember(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"..@-@1", ".@-@1", "a/b@-@1", "@-@1", "?", ""} {
		j, d := twoItems()
		apply(d, "sharding/1/running", registry.Node{Data: []byte(name)})
		v := d.View()
		v.Runs = []protocol.Runs{{ID: alive, RunsData: &protocol.RunsData{}}}
		for _, op := range j.Encode(protocol.ClearMarks{Self: alive, Running: []int{1}}, v) {
			if !registry.ValidPath(op.Path) {
				t.Errorf("%q: the transaction names %s", name, op.Path)
			}
		}
		if !v.Items[1].Abandoned {
			t.Errorf("%q: no mark is left", name)
		}
	}
}

// A mark that outlives its session counts as held by the session of the member that it
// names, and as abandoned once that session is over.
func TestMarksThatNameAMember(t *testing.T) {
	t.Parallel()
	j, d := twoItems()
	apply(d, "sharding/0/running", registry.Node{Data: []byte(alive)})
	apply(d, "sharding/1/running", registry.Node{Data: []byte(gone)})
	apply(d, "sharding/0/failover", registry.Node{Data: []byte(alive), Stat: registry.Stat{Owner: 7}})
	apply(d, "sharding/0/failovering", registry.Node{Data: []byte(alive)})
	apply(d, "sharding/1/failovering", registry.Node{Data: []byte(gone)})
	v := d.View()
	if a, b := v.Items[0], v.Items[1]; a.Running != 7 || a.Abandoned || a.Failover != alive || a.TakerSession != 7 ||
		b.Running != 0 || !b.Abandoned || b.Failover != gone || b.TakerSession != 0 {
		t.Errorf("the view has %+v", v.Items)
	}
	if got, want := j.UnheldMarks(v), []string{"/n/j/sharding/1/running", "/n/j/sharding/1/failovering"}; !slices.Equal(got, want) {
		t.Errorf("no session holds %q, want %q", got, want)
	}
	v.Runs = []protocol.Runs{{ID: alive, RunsData: &protocol.RunsData{}}}
	if got, want := deleted(j, protocol.ClearMarks{Self: alive, Running: []int{1}, Failover: []int{1}}, v), []string{"1/running", "1/failovering"}; !slices.Equal(got, want) {
		t.Errorf("clearing deletes %q, want %q", got, want)
	}
	if got, want := deleted(j, protocol.Complete{Self: alive, Items: []int{0}}, v), []string{"0/running", "0/failover", "0/failovering"}; !slices.Equal(got, want) {
		t.Errorf("completing deletes %q, want %q", got, want)
	}
	d.Apply("/n/j/wasm/members/"+alive, registry.Node{})
	d.Apply("/n/j/instances/"+alive, registry.Node{})
	d.Apply("/n/j/sharding/1/failovering", registry.Node{})
	if v := d.View(); v.Items[0].Running != 0 || !v.Items[0].Abandoned || v.Items[1].Failover != "" {
		t.Errorf("when the member has gone, the view has %+v", v.Items)
	}
	apply(d, "sharding", registry.Node{Children: []string{"0"}})
	apply(d, "sharding", registry.Node{Children: []string{"0", "1"}})
	if v := d.View(); v.Items[1].Marked() {
		t.Error("an item that is new has the mark of the one before it")
	}
}

// A member does not answer for marks that a former member with its id has left.
func TestMarksOfAFormerLife(t *testing.T) {
	t.Parallel()
	_, d := twoItems()
	apply(d, "sharding/0/running", registry.Node{Data: []byte(alive), Stat: registry.Stat{Created: 40}})
	apply(d, "sharding/1/failovering", registry.Node{Data: []byte(alive), Stat: registry.Stat{Created: 40}})
	for _, node := range []string{"instances/", "wasm/members/"} {
		apply(d, node+alive, registry.Node{Stat: registry.Stat{Owner: 8, Created: 50}})
	}
	v := d.View()
	if v.Items[0].Running != 0 || !v.Items[0].Abandoned || v.Items[1].TakerSession != 0 {
		t.Errorf("the view has %+v, %+v", v.Items, v.Instances)
	}
}

// deleted returns the nodes of items that a mutation deletes.
func deleted(j jobtree.Job, m protocol.Mutation, v *protocol.View) []string {
	var all []string
	for _, op := range j.Encode(m, v) {
		if op.Kind == registry.Delete {
			all = append(all, strings.TrimPrefix(op.Path, "/n/j/sharding/"))
		}
	}
	return all
}

// A taker also writes the node that outlives a session.
func TestTakersSaySoTwice(t *testing.T) {
	t.Parallel()
	j, d := twoItems()
	ops := j.Encode(protocol.Take{Self: alive, Items: []int{1}}, d.View())
	for path, kind := range map[string]registry.OpKind{"/n/j/sharding/1/failover": registry.CreateEphemeral, "/n/j/sharding/1/failovering": registry.Create} {
		if !slices.ContainsFunc(ops, func(op registry.Op) bool {
			return op.Kind == kind && op.Path == path && string(op.Data) == alive
		}) {
			t.Errorf("there is no %s in %+v", path, ops)
		}
	}
}

// A request with a node of its own waits for its member. Requests to members that are gone
// are deleted with the next request.
func TestRequestsOfTheirOwn(t *testing.T) {
	t.Parallel()
	j, d := twoItems()
	apply(d, "trigger/"+alive, registry.Node{Stat: registry.Stat{Created: 30}})
	apply(d, "trigger/"+gone, registry.Node{Stat: registry.Stat{Created: 20}})
	v := d.View()
	if v.Instances[0].Request != 30 || !slices.Equal(v.Unanswered, []job.InstanceID{gone}) {
		t.Errorf("the view has %+v, %q", v.Instances, v.Unanswered)
	}
	if op := j.Encode(protocol.Join{ID: gone}, v)[1]; op.Kind != registry.Delete || op.Path != "/n/j/trigger/"+gone {
		t.Errorf("who joins with that id does %+v", op)
	}
	ops := j.Encode(protocol.RequestTrigger{To: []job.InstanceID{alive}}, v)
	if op := ops[0]; op.Kind != registry.Absent || op.Path != "/n/j/instances/"+gone {
		t.Errorf("it begins with %+v: who has come back may have been asked since", op)
	}
	if op := ops[1]; op.Kind != registry.Delete || op.Path != "/n/j/trigger/"+gone {
		t.Errorf("it goes on with %+v", op)
	}
	if op := ops[2]; op.Kind != registry.Create || op.Path != "/n/j/trigger" {
		t.Errorf("it goes on with %+v", op)
	}
	d.Apply("/n/j/trigger/"+alive, registry.Node{})
	d.Apply("/n/j/trigger/"+gone, registry.Node{})
	if now := d.View(); now.Instances[0].Request != 0 || now.Unanswered != nil || v.Instances[0].Request != 30 {
		t.Errorf("when they are gone, the view has %+v, %q; the one before %+v", now.Instances, now.Unanswered, v.Instances)
	}
}

// A configuration of two nodes is read again when either changes.
func TestConfigurationsOfTwoNodes(t *testing.T) {
	t.Parallel()
	_, d := twoItems()
	apply(d, "config", registry.Node{Data: []byte("c")})
	apply(d, "", registry.Node{Data: []byte("r")})
	if got := d.View().Definition.Config; got == nil || got.(interface{ String() string }).String() != "rc" {
		t.Errorf("it is %s", got)
	}
}

// Marks that outlive their session are deleted when the run of the dead member becomes
// pending or gets a row, unless another member has taken the item by then.
func TestRunsOfTheDeadAreUnmarked(t *testing.T) {
	t.Parallel()
	j, d := twoItems()
	apply(d, "sharding/0/running", registry.Node{Data: []byte(alive)})
	apply(d, "sharding/0/failovering", registry.Node{Data: []byte(alive)}) // the member is about to delete it
	apply(d, "sharding/1/running", registry.Node{Data: []byte(gone)})
	apply(d, "sharding/1/failovering", registry.Node{Data: []byte(gone)})
	for _, m := range []protocol.Mutation{
		protocol.ReclaimForeign{Self: alive, Pend: []protocol.Pending{{Item: 0}, {Item: 1}}},
		protocol.ReclaimForeign{Self: alive, Pend: []protocol.Pending{{Item: 1}}},
		protocol.Reclaim{Self: alive, Dead: gone, Rest: &protocol.RunsData{}, Unmark: []int{0, 1}},
	} {
		if got, want := deleted(j, m, d.View()), []string{"1/running", "1/failovering"}; !slices.Equal(got, want) {
			t.Errorf("%+v deletes %q, want %q", m, got, want)
		}
		var absent []string
		for _, op := range j.Encode(m, d.View()) {
			if op.Kind == registry.Absent && strings.HasPrefix(op.Path, "/n/j/sharding/") {
				absent = append(absent, op.Path)
			}
		}
		if want := []string{"/n/j/sharding/1/failover"}; !slices.Equal(absent, want) {
			t.Errorf("%+v asks that %q be absent, want %q", m, absent, want)
		}
	}
}

// A reclaim must not require that a failover mark is absent if its own view shows one.
func TestRunsOfTheDeadAreLeftToATaker(t *testing.T) {
	t.Parallel()
	j, d := twoItems()
	apply(d, "sharding/1/running", registry.Node{Data: []byte(gone)})
	apply(d, "sharding/1/failover", registry.Node{Data: []byte(alive)})
	m := protocol.ReclaimForeign{Self: alive, Pend: []protocol.Pending{{Item: 1}}}
	if got := deleted(j, m, d.View()); len(got) > 0 {
		t.Errorf("deletes %q of an item that was taken", got)
	}
	for _, op := range j.Encode(m, d.View()) {
		if op.Kind == registry.Absent && strings.HasPrefix(op.Path, "/n/j/sharding/") {
			t.Errorf("asks that %s be absent, which is there", op.Path)
		}
	}
}
