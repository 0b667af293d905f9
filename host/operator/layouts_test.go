package operator

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/internal/javatest"
	"github.com/wasmjob/wasmjob/host/registry"
)

// Each verb refuses to change a job that is half of one layout and half of another. It says
// why, and writes nothing.
func TestHalvesOfTwoLayoutsAreLeftAlone(t *testing.T) {
	t.Parallel()
	for name, is := range map[string]struct {
		config string
		also   map[string]string // nodes beside those of a job of layout 2.1
		why    string
	}{
		"keys beside a text":      {javatest.Config(nil), map[string]string{javatest.Node("config", "cron"): "0 * * * * ?"}, "its keys are nodes, as in layout 1"},
		"keys beside instances":   {"", keys1(), "its keys are nodes, as in layout 1"},
		"status beside instances": {javatest.Config(nil), map[string]string{javatest.Node("servers", "10.0.0.1", "status"): "READY"}, "instances is there, as in layouts 2.1 and 3"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := operate(t, passing(t))
			javatest.Write(t, o.session, is.config)
			for _, path := range slices.Sorted(maps.Keys(is.also)) {
				javatest.Put(t, o.session, registry.Create, path, is.also[path])
			}
			before := treeOf(t, o, javatest.Node())
			for verb, err := range map[string]error{
				"pause":   o.Pause(t.Context(), javatest.Name, PauseTerms{}),
				"trigger": o.Trigger(t.Context(), javatest.Name),
				"item":    o.SetItem(t.Context(), javatest.Name, 0, true),
				"server":  o.SetServer(t.Context(), javatest.Name, "10.0.0.1", true),
				"reshard": o.Reshard(t.Context(), javatest.Name),
				"remove":  o.Remove(t.Context(), javatest.Name, false),
			} {
				wantCode(t, verb, err, host.Refused)
				if err != nil && !strings.Contains(err.Error(), is.why) {
					t.Errorf("%s: %v", verb, err)
				}
			}
			set, unread, err := o.SetServers(t.Context(), "10.0.0.1", true)
			if wantCode(t, "servers", err, host.NotFound); len(set) > 0 || !slices.Equal(unread, []string{javatest.Name}) {
				t.Errorf("servers: set %q, unread %q", set, unread)
			}
			if d := cmp.Diff(before, treeOf(t, o, javatest.Node())); d != "" {
				t.Errorf("something was written: %s", d)
			}
			if err := o.Remove(t.Context(), javatest.Name, true); err != nil {
				t.Errorf("forced: %v", err)
			}
			if err := o.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// keys1 are the keys of a job of layout 1, as nodes.
func keys1() map[string]string {
	return map[string]string{
		javatest.Node("config", "jobType"): "SIMPLE", javatest.Node("config", "jobClass"): "a.B", javatest.Node("config", "shardingTotalCount"): "2",
		javatest.Node("config", "cron"): "0 * * * * ?",
	}
}

// treeOf returns a node and all nodes below it, by path.
func treeOf(t *testing.T, o *Operator, path string) map[string]registry.Node {
	t.Helper()
	n, err := o.session.Read(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]registry.Node{path: n}
	for _, c := range n.Children {
		maps.Copy(all, treeOf(t, o, path+"/"+c))
	}
	return all
}

// contended is a session whose every transaction conflicts.
type contended struct{ registry.Session }

func (contended) Commit(context.Context, ...registry.Op) (registry.Receipt, error) {
	return registry.Receipt{}, registry.ErrConflict
}

// It is an error if a server could not be disabled for a job.
func TestServersOfAJobThatIsBusy(t *testing.T) {
	t.Parallel()
	o := operate(t, passing(t))
	javatest.Write(t, o.session, javatest.Config(nil))
	o.session = contended{o.session}
	set, unread, err := o.SetServers(t.Context(), "10.0.0.1", true)
	if wantCode(t, "disable", err, host.Refused); len(set)+len(unread) > 0 {
		t.Errorf("set %q, unread %q", set, unread)
	}
	if err := o.Close(); err != nil {
		t.Error(err)
	}
}
