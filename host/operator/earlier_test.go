package operator

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/internal/javatest"
	"github.com/wasmjob/wasmjob/host/registry"
)

// earlierNodes are the nodes of a job of layout 1 or 2.0 without members.
func earlierNodes(layout string) map[string]string {
	nodes := map[string]string{"/" + javatest.Namespace: "", javatest.Node(): "", javatest.Node("config"): ""}
	for _, n := range [][]string{{"servers"}, {"servers", "10.0.0.1"}, {"execution"}, {"execution", "0"}, {"leader"}, {"leader", "sharding"}} {
		nodes[javatest.Node(n...)] = ""
	}
	if layout == "1" {
		maps.Copy(nodes, keys1())
	} else {
		nodes[javatest.Node("config")] = javatest.Config(nil)
	}
	return nodes
}

func putAll(t *testing.T, o *Operator, nodes map[string]string) {
	t.Helper()
	for _, path := range slices.Sorted(maps.Keys(nodes)) {
		javatest.Put(t, o.session, registry.Create, path, nodes[path])
	}
}

// Requests that members of ElasticJob 1 and 2.0 do not support are refused in their jobs. Reports show
// these members by their addresses.
func TestVerbsInAJobOfForeignMembersAlone(t *testing.T) {
	t.Parallel()
	for _, layout := range []string{"1", "2.0"} {
		o := operate(t, passing(t))
		putAll(t, o, earlierNodes(layout))
		javatest.Put(t, o.session, registry.CreateEphemeral, javatest.Node("servers", "10.0.0.1", "status"), "READY")
		wantCode(t, "item", o.SetItem(t.Context(), javatest.Name, 0, true), host.Refused)
		wantCode(t, "pause", o.Pause(t.Context(), javatest.Name, PauseTerms{}), host.Refused)
		gone, err := o.Shutdown(t.Context(), javatest.Name, Which{All: true})
		if wantCode(t, "shutdown", err, host.Refused); len(gone) > 0 {
			t.Errorf("layout %s: it ended %q", layout, gone)
		}
		r, err := o.Job(t.Context(), javatest.Name)
		if err != nil || len(r.Members) != 1 || r.Members[0].ID != "10.0.0.1" || r.Config == nil {
			t.Errorf("layout %s: shown as %+v, %v", layout, r, err)
		}
		if err := o.Trigger(t.Context(), javatest.Name); err != nil {
			t.Errorf("layout %s: %v", layout, err)
		}
		if n, err := o.session.Read(t.Context(), javatest.Node("servers", "10.0.0.1", "trigger")); err != nil || !n.Exists {
			t.Errorf("layout %s: the member is not asked: %v", layout, err)
		}
	}
}

// narrow is a session that limits transactions to as many operations as a configuration has nodes.
type narrow struct{ registry.Session }

func (n narrow) Commit(ctx context.Context, ops ...registry.Op) (registry.Receipt, error) {
	if len(ops) > 12 {
		return registry.Receipt{}, registry.ErrTooLarge
	}
	return n.Session.Commit(ctx, ops...)
}

// A removal deletes all nodes of a job's configuration.
func TestAnEarlierJobIsRemoved(t *testing.T) {
	t.Parallel()
	for _, layout := range []string{"1", "2.0"} {
		for _, parts := range []bool{false, true} {
			o := operate(t, passing(t))
			nodes := earlierNodes(layout)
			if putAll(t, o, nodes); parts {
				o.session = narrow{o.session}
			}
			if err := o.Remove(t.Context(), javatest.Name, false); err != nil {
				t.Errorf("layout %s, in parts %v: %v", layout, parts, err)
			}
			for path := range nodes {
				if n, err := o.session.Read(t.Context(), path); n.Exists && strings.HasPrefix(path, javatest.Node()) {
					t.Errorf("layout %s, in parts %v: %s is there, %v", layout, parts, path, err)
				}
			}
		}
	}
}
