package jobtree_test

import (
	"fmt"
	"runtime"
	"strconv"
	"testing"

	"github.com/wasmjob/wasmjob/host/internal/layout/jobtree"
	"github.com/wasmjob/wasmjob/host/internal/layout/spelling"
	"github.com/wasmjob/wasmjob/host/internal/layout/v21"
	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/registry"
)

func pendingNode(item int) registry.Node {
	p := protocol.Pending{Item: item, Entry: protocol.Entry{Item: item, Instant: 1, Attempt: 1}, Dead: "10.0.0.1@-@1"}
	return registry.Node{Exists: true, Data: spelling.EncodePending(&p)}
}

func pendingItem(j jobtree.Job, item int) string {
	return j.At(jobtree.NodeFailoverItems + "/" + strconv.Itoa(item))
}

func TestPendingRunsAreListedByItem(t *testing.T) {
	t.Parallel()
	j := v21.NewJob("ns", "j")
	d := j.NewDecoder(nil)
	d.Apply(pendingItem(j, 0), registry.Node{}) // a node that never existed
	views := []*protocol.View{d.View()}
	apply := func(nodes map[int]registry.Node) {
		for i, n := range nodes {
			d.Apply(pendingItem(j, i), n)
		}
		views = append(views, d.View())
	}
	apply(map[int]registry.Node{7: pendingNode(7), 3: pendingNode(3), 12: pendingNode(12)})
	apply(map[int]registry.Node{5: pendingNode(5), 7: {}, 9: {}})
	apply(map[int]registry.Node{3: {Exists: true}, 5: {}})
	apply(map[int]registry.Node{3: {}, 12: {}})
	d.Apply(pendingItem(j, 4), pendingNode(4)) // it comes and goes between two views
	d.Apply(pendingItem(j, 4), registry.Node{})
	views = append(views, d.View())
	for k, want := range []string{"[]", "[3 7 12]", "[3 5 12]", "[3! 12]", "[]", "[]"} {
		got := []string{}
		for _, p := range views[k].Pending {
			text := fmt.Sprint(p.Item)
			if p.Foreign {
				text += "!"
			}
			got = append(got, text)
		}
		if fmt.Sprint(got) != want {
			t.Errorf("view %d has pending runs %v, want %s", k, got, want)
		}
	}
}

// A dead server leaves as many pending runs as it had items, and their taker deletes as
// many. Copying the list for each would block the loop.
func TestManyPendingRunsAreCopiedOnce(t *testing.T) { //nolint:paralleltest // measures memory of the process
	j := v21.NewJob("ns", "j")
	bytes := func(items int) uint64 {
		d := j.NewDecoder(nil)
		d.View()
		nodes := make([]registry.Node, items)
		for i := range nodes {
			nodes[i] = pendingNode(i)
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for i := range nodes {
			d.Apply(pendingItem(j, i), nodes[i])
		}
		v := d.View()
		for i := range nodes {
			d.Apply(pendingItem(j, i), registry.Node{})
		}
		gone := d.View()
		runtime.ReadMemStats(&after)
		if len(v.Pending) != items || len(gone.Pending) != 0 {
			t.Fatalf("%d runs are pending, and then %d, of %d", len(v.Pending), len(gone.Pending), items)
		}
		return after.TotalAlloc - before.TotalAlloc
	}
	few, many := bytes(100), bytes(2000)
	if most := 2 * 20 * few; many > most {
		t.Errorf("2,000 pending runs take %d bytes, 100 take %d: more than twice as many for each", many, few)
	}
}

func TestAPendingRunGoesInTheVersionThatWasSeen(t *testing.T) {
	t.Parallel()
	j := v21.NewJob("ns", "j")
	v := &protocol.View{Pending: []protocol.Pending{{Item: 2, Version: 4}, {Item: 5, Version: 6}, {Item: 9, Version: 8}}}
	ops := j.Encode(protocol.Drop{Self: "a@-@1", Items: []int{5, 6, 9}}, v)
	versions := map[string]int32{}
	for _, op := range ops {
		if op.Kind == registry.Delete {
			versions[op.Path] = op.Version
		}
	}
	for i, want := range map[int]int32{5: 6, 6: registry.AnyVersion, 9: 8} {
		if got, ok := versions[pendingItem(j, i)]; !ok || got != want {
			t.Errorf("the pending run of item %d is deleted in version %d, want %d", i, got, want)
		}
	}
	ops = j.Encode(protocol.ReclaimForeign{Self: "a@-@1", Pend: []protocol.Pending{{Item: 5, Dead: job.InstanceID("d")}, {Item: 6}}}, v)
	kinds := map[string]registry.OpKind{}
	for _, op := range ops {
		kinds[op.Path] = op.Kind
	}
	if kinds[pendingItem(j, 5)] != registry.Set || kinds[pendingItem(j, 6)] != registry.Create {
		t.Errorf("what is there is written with %v, what is not with %v", kinds[pendingItem(j, 5)], kinds[pendingItem(j, 6)])
	}
}
