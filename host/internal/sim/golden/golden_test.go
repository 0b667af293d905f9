package golden

import (
	"slices"
	"strings"
	"testing"

	"github.com/wasmjob/wasmjob/host/job/recorded"
)

// leftOut lists recordings that are not replayed. docs/DIFFERENCES.md has the same list;
// docs/STATUS.md refers to it.
var leftOut = []struct{ key, prefix string }{
	{"a moment within a sequence", "basic: while sharding (processing exists)"},
	{"a moment within a sequence", "misfire: first misfire mark"},
	{"a moment within a sequence", "failover_one_ip: session expired"},
	{"a moment within a sequence", "failover_one_ip: first failover mark in "},
	{"a moment within a sequence", "failover_one_ip: second failover mark in "},
	{"a moment within a sequence", "failover_one_ip: first item taken "},
	{"a moment within a sequence", "once: guarantee/"},
}

// TestFlows checks that the differences of each flow and moment are the declared ones.
func TestFlows(t *testing.T) {
	t.Parallel()
	for _, s := range scenarios {
		t.Run(s.file, func(t *testing.T) {
			t.Parallel()
			p := perform(t, s)
			p.check(t)
			t.Logf("%d flows, %d moments, %d writes of operators", len(p.scenes), len(p.glances), p.operatorWrites)
		})
	}
}

// check compares the differences found with the declared ones.
func (p *play) check(t *testing.T) {
	t.Helper()
	found := map[string][]row{}
	for _, d := range p.differences() {
		found[d.flow] = append(found[d.flow], row{node: d.node, theirs: d.theirs, ours: d.ours})
	}
	for flow, rows := range found {
		for _, r := range rows {
			if !slices.ContainsFunc(declared[flow], r.same) {
				t.Errorf("%s: not declared: {LINE, %q, %q, %q}", flow, r.node, r.theirs, r.ours)
			}
		}
	}
	for flow, rows := range declared {
		for _, r := range rows {
			if strings.HasPrefix(flow, p.rec.file+": ") && !slices.ContainsFunc(found[flow], r.same) {
				t.Errorf("%s: declared and not there: {%q, %q, %q, %q}", flow, r.line, r.node, r.theirs, r.ours)
			}
		}
	}
}

func (r row) same(o row) bool { return r.node == o.node && r.theirs == o.theirs && r.ours == o.ours }

// TestAll checks that every flow and moment of every recording is replayed or left out,
// and that every declaration belongs to one that is replayed.
func TestAll(t *testing.T) {
	t.Parallel()
	acted := map[string]bool{}
	there := map[string]bool{}
	for file := range files(t) {
		r := record(t, file)
		for _, f := range r.Flows {
			there[file+": "+f.Name] = true
		}
		for _, m := range r.Moments {
			there[file+": "+m.Name] = true
		}
	}
	for _, s := range scenarios {
		p := perform(t, s)
		for _, s := range p.scenes {
			acted[p.rec.file+": "+s.name] = true
		}
		for _, g := range p.glances {
			acted[p.rec.file+": "+g.name] = true
		}
	}
	used := map[string]bool{}
	for name := range there {
		left := ""
		for _, l := range leftOut {
			if strings.HasPrefix(name, l.prefix) {
				left = l.prefix
				used[left] = true
			}
		}
		if acted[name] == (left != "") {
			t.Errorf("%s: acted %v, left out %v", name, acted[name], left != "")
		}
	}
	for _, l := range leftOut {
		if !used[l.prefix] {
			t.Errorf("left out and not recorded: %s", l.prefix)
		}
	}
	for name := range declared {
		if !acted[name] {
			t.Errorf("differences are declared of what is not acted: %s", name)
		}
	}
}

// files returns the recordings of version 2.1.5.
func files(t *testing.T) map[string]bool {
	t.Helper()
	all := map[string]bool{}
	for _, name := range recorded.Scenarios(t, "ej2") {
		all[name] = true
	}
	return all
}

// TestLines checks that each line that a difference names is in the table, and that each
// line of the table is used.
func TestLines(t *testing.T) {
	t.Parallel()
	used := map[string]bool{}
	for flow, rows := range declared {
		for _, r := range rows {
			used[r.line] = true
			if !slices.ContainsFunc(lines, func(l line) bool { return l.key == r.line }) {
				t.Errorf("%s: %q is no line", flow, r.line)
			}
		}
	}
	for _, l := range lines {
		if used[l.key] == (l.seen != nil) {
			t.Errorf("line %q: rows use it: %v, a function looks for it: %v; it must be one of the two", l.key, used[l.key], l.seen != nil)
		}
	}
}

// TestSeen checks differences that do not show in the states of a node.
func TestSeen(t *testing.T) {
	t.Parallel()
	plays := map[string]*play{}
	for _, s := range scenarios {
		plays[s.file] = perform(t, s)
	}
	for _, l := range lines {
		if l.seen != nil && !l.seen(t, plays) {
			t.Errorf("the difference %q is not there", l.key)
		}
	}
}

func keys[T any](all []T, key func(T) string) []string {
	var ks []string
	for _, x := range all {
		if !slices.Contains(ks, key(x)) {
			ks = append(ks, key(x))
		}
	}
	return ks
}
