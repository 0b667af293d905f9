package migration

import (
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wasmjob/wasmjob/host/internal/layout"
	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/job/recorded"
	"github.com/wasmjob/wasmjob/host/registry"
	"github.com/wasmjob/wasmjob/host/registry/tree"
)

var update = flag.Bool("update", false, "write the plans anew")

const (
	root = "/ns/job"
	now  = 1796000000000 // after all recordings
)

// stage is a job in a registry.
type stage struct {
	t    *testing.T
	tree *tree.Tree
}

func newStage(t *testing.T, nodes map[string]string) *stage {
	t.Helper()
	s := &stage{t, tree.New()}
	s.must(registry.Op{Kind: registry.Create, Path: "/ns"})
	for _, theirs := range []bool{false, true} { // the newest begins and offsets are of ElasticJob's members
		for _, path := range slices.Sorted(maps.Keys(nodes)) {
			if (path != "" && !within(path, "wasm")) == theirs {
				s.must(registry.Op{Kind: registry.Create, Path: at(root, path), Data: []byte(nodes[path])})
			}
		}
	}
	return s
}

func (s *stage) write(ops ...registry.Op) error {
	_, _, err := s.tree.Commit(0, now, ops)
	return err
}

func (s *stage) must(ops ...registry.Op) {
	s.t.Helper()
	if err := s.write(ops...); err != nil {
		s.t.Fatal(err)
	}
}

// hold creates a node that a session holds.
func (s *stage) hold(path string) {
	s.t.Helper()
	if _, _, err := s.tree.Commit(7, now, []registry.Op{{Kind: registry.CreateEphemeral, Path: at(root, path)}}); err != nil {
		s.t.Fatal(err)
	}
}

func (s *stage) nodes() Tree {
	all := Tree{}
	var read func(path string)
	read = func(path string) {
		n := s.tree.Get(at(root, path))
		all[path] = n
		for _, c := range n.Children {
			read(strings.TrimPrefix(path+"/"+c, "/"))
		}
	}
	read("")
	return all
}

// data returns the values of all nodes.
func (s *stage) data() map[string]string {
	all := map[string]string{}
	for path, n := range s.nodes() {
		all[path] = string(n.Data)
	}
	return all
}

func (s *stage) forward(to string) *Plan {
	s.t.Helper()
	p, err := Forward("ns", "job", to, s.nodes())
	if err != nil {
		s.t.Fatal(err)
	}
	return p
}

func (s *stage) back() *Plan {
	s.t.Helper()
	p, err := Back("ns", "job", s.nodes())
	if err != nil {
		s.t.Fatal(err)
	}
	return p
}

// of is the layout that a server of ours finds for the job.
func (s *stage) of() string {
	t := s.nodes()
	var servers []registry.Node
	for _, ip := range t["servers"].Children {
		servers = append(servers, t["servers/"+ip])
	}
	return layout.Of(t[""], t["config"], servers)
}

// view is the view of a server of ours in a layout.
func (s *stage) view(of string) *protocol.View {
	d := layout.New(of, "ns", "job").NewDecoder(nil)
	t := s.nodes()
	for _, path := range t.paths() {
		d.Apply(at(root, path), t[path])
	}
	return d.View()
}

// shown prints a plan as in its golden file.
func shown(p *Plan) string {
	var b strings.Builder
	fmt.Fprintf(&b, "from %s to %s\n", p.From, p.To)
	for _, n := range p.Notes {
		fmt.Fprintf(&b, "note %s\n", n)
	}
	for _, w := range p.Writes() {
		fmt.Fprintf(&b, "%s %s", w.Op, w.Path)
		if len(w.Data) > 0 {
			fmt.Fprintf(&b, " = %s", strings.ReplaceAll(strings.TrimSuffix(string(w.Data), "\n"), "\n", " | "))
		}
		b.WriteString("\n")
	}
	return b.String()
}

type recording struct{ name, from string }

// recordings are trees of real members.
var recordings = map[recording]func(t *testing.T) map[string]string{
	{"ej10/stop", "1"}:       earlier("ej10/stop.json"),
	{"ej1/sequence", "1"}:    earlier("ej1/sequence.json"),
	{"ej1/pause", "1"}:       earlier("ej1/pause.json"),
	{"ej1/failover", "1"}:    earlier("ej1/failover.json"),
	{"ej1/unmonitored", "1"}: earlier("ej1/unmonitored.json"),
	{"ej20/disable", "2.0"}:  earlier("ej20/disable.json"),
	{"ej20/pause", "2.0"}:    earlier("ej20/pause.json"),
	{"ej20/dataflow", "2.0"}: earlier("ej20/dataflow.json"),
	{"ours/flow", "1"}:       leftByOurs(earlier("ej1/sequence.json")),
	{"ours/simple", "2.0"}:   leftByOurs(earlier("ej20/disable.json")),
	{"ej2/disable", "2.1"}: func(t *testing.T) map[string]string {
		t.Helper()
		return recorded.AtRest(t, recorded.Golden(t, "ej2/disable.json"), "server 10.0.0.3 DISABLED, one tick later")
	},
}

func earlier(file string) func(t *testing.T) map[string]string {
	return func(t *testing.T) map[string]string {
		t.Helper()
		return recorded.AtRest(t, recorded.Earlier(t, file), "at the end")
	}
}

// each runs a test on each recorded tree and each later layout.
func each(t *testing.T, play func(t *testing.T, r recording, to string, nodes map[string]string)) {
	t.Helper()
	for r, nodes := range recordings {
		for _, to := range []string{"2.1", "3"} {
			if r.from == to {
				continue
			}
			t.Run(r.name+" to "+to, func(t *testing.T) {
				t.Parallel()
				play(t, r, to, nodes(t))
			})
		}
	}
}

// The writes are those of the golden files, and the result is a job of the layout that a
// server of ours reads. Going back restores the tree.
func TestRecordedTrees(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, r recording, to string, nodes map[string]string) {
		s := newStage(t, nodes)
		before := s.data()
		p := s.forward(to)
		golden := "testdata/" + strings.ReplaceAll(r.name, "/", "_") + "_to_" + to + ".txt"
		if *update {
			if err := os.WriteFile(golden, []byte(shown(p)), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(string(want), shown(p)); d != "" || p.From != r.from {
			t.Errorf("from %s: %s", p.From, d)
		}
		s.must(p.Ops()...)
		if v := s.view(to); s.of() != to || v.Config == nil || len(v.Faults) > 0 {
			t.Errorf("it is of layout %s, with %+v", s.of(), v.Faults)
		}
		s.must(s.back().Ops()...)
		if d := cmp.Diff(before, s.data()); d != "" {
			t.Errorf("after the way back: %s", d)
		}
		if _, err := Back("ns", "job", s.nodes()); !errors.Is(err, ErrNone) {
			t.Errorf("back again: %v", err)
		}
	})
}

// A migration, a way back and the deletion of the rest can be interrupted before each
// write. The job has one layout at that point, and the same call continues.
func TestCutAtEachWrite(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, r recording, to string, nodes map[string]string) {
		whole := newStage(t, nodes)
		whole.must(whole.forward(to).Ops()...)
		s := newStage(t, nodes)
		before := s.data()
		// one makes the next write of a plan, and returns false if there is none.
		one := func(p *Plan) bool {
			parts := len(p.Copy) + len(p.Rest)
			switch {
			case len(p.Copy) > 0:
				s.must(p.Copy[0])
			case len(p.Turn) > 0:
				s.must(p.Turn...)
			default:
				s.must(p.Rest[0])
			}
			return len(p.Turn) > 0 || parts > 1
		}
		// An interrupted migration can be taken back as well.
		for cuts := range 3 {
			for range cuts {
				if p := s.forward(to); p.Done == "" {
					one(p)
				}
			}
			for p, err := Back("ns", "job", s.nodes()); !errors.Is(err, ErrNone); p, err = Back("ns", "job", s.nodes()) {
				if err != nil {
					t.Fatal(err)
				}
				one(p)
			}
			if d := cmp.Diff(before, s.data()); d != "" {
				t.Fatalf("taken back after %d writes: %s", cuts, d)
			}
		}
		for s.of() != to {
			if is := s.of(); is != r.from {
				t.Fatalf("it is of layout %q after a cut", is)
			}
			for _, file := range []string{"2.1", "3"} { // the layout in which a server of ours reads it
				if v := s.view(file); file != r.from && v.ConfigFault == "" && v.RecordFault == "" {
					t.Fatalf("a server whose file says %s finds no fault with it", file)
				}
			}
			one(s.forward(to))
		}
		if d := cmp.Diff(whole.data(), s.data()); d != "" {
			t.Errorf("with cuts: %s", d)
		}
		if p := s.forward(to); p.Done == "" || len(p.Ops()) > 0 {
			t.Errorf("once more: %+v", p)
		}
		s.hold("instances/10.0.0.1@-@1")
		for p := s.forward(to); p.Done == ""; p = s.forward(to) {
			if s.of() != to {
				t.Fatalf("it is of layout %q while the rest goes", s.of())
			}
			one(p)
		}
		for path := range s.data() {
			if within(path, "execution", "offset", "leader/execution", "wasm/migration") {
				t.Errorf("%s is left", path)
			}
		}
	})
}

// A member that comes while a migration is planned prevents its turn, even if it has left
// again. So does a console that changes the configuration.
func TestOthersKeepItFromTurning(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, r recording, to string, nodes map[string]string) {
		comings := map[string][]string{"another": {"servers/10.0.0.9"}}
		if known := "servers/10.0.0.1/hostName"; nodes[known] != "" {
			comings = map[string][]string{"another": {"servers/10.0.0.9", "servers/10.0.0.9/hostName"}, "the same": {known}}
		}
		if r.from == "2.1" {
			comings["the same"] = []string{"servers/10.0.0.1"}
			comings["an instance"] = []string{"instances/10.0.0.1@-@1"}
		}
		if r.from == "1" {
			comings["a new key"] = []string{"config/key"}
		}
		comings["a console"], comings["a console of layout 3"] = []string{"config"}, []string{""}
		for name, written := range comings {
			s := newStage(t, nodes)
			p := s.forward(to)
			for _, path := range written {
				op := registry.Op{Kind: registry.Create, Path: at(root, path), Version: registry.AnyVersion}
				if _, there := nodes[path]; there {
					op.Kind, op.Data = registry.Set, []byte(nodes[path])
				}
				s.must(op)
			}
			if err := s.write(p.Ops()...); !errors.Is(err, registry.ErrConflict) {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
	s := with(t, in21, map[string]string{"wasm": "", "wasm/members": ""})
	p := s.forward("3")
	s.must(registry.Op{Kind: registry.Set, Path: root + "/wasm/members", Version: registry.AnyVersion}) // our members write it when they join
	if err := s.write(p.Ops()...); !errors.Is(err, registry.ErrConflict) {
		t.Errorf("one of ours: %v", err)
	}
	s = with(t, in1, nil)
	s.must(s.forward("2.1").Copy...)
	p = s.forward("2.1")
	s.must(registry.Op{Kind: registry.Create, Path: root + "/wasm/members"}) // a member that has left again
	if err := s.write(p.Turn...); !errors.Is(err, registry.ErrConflict) {
		t.Errorf("one of ours, in parts: %v", err)
	}
}
