package servertree

import (
	"slices"
	"strings"
	"testing"

	"github.com/wasmjob/wasmjob/host/job/recorded"
)

// folders have the recordings of a layout.
var folders = map[string][]string{"1": {"ej1", "ej10"}, "2.0": {"ej20"}}

// TestRecordedNodes checks that the table has each recorded node, with its kind and value,
// and that each of its rows was recorded.
func TestRecordedNodes(t *testing.T) {
	t.Parallel()
	for layout, of := range folders {
		seen := map[string]bool{}
		for _, folder := range of {
			for _, name := range recorded.EarlierScenarios(t, folder) {
				for _, f := range recorded.EarlierFlows(t, folder+"/"+name+".json") {
					for _, w := range f.Each() {
						for _, fault := range faults(layout, w, seen) {
							t.Errorf("%s/%s, %s: %s %s: %s", folder, name, f.Name, w.Op, w.Path, fault)
						}
					}
				}
			}
		}
		for _, n := range Nodes {
			there := n.Only == "" || n.Only == layout
			if seen[n.Name] != there {
				t.Errorf("layout %s, %s: recorded %v, in the table %v", layout, n.Name, seen[n.Name], there)
			}
		}
	}
}

func faults(layout string, w recorded.Write, seen map[string]bool) (all []string) {
	parts := strings.SplitN(w.Path, "/", 4) // "", namespace, job, node
	if len(parts) < 4 || w.Op != "create" && w.Op != "setData" && w.Op != "delete" {
		return nil
	}
	n, _, ok := NodeOf(parts[3])
	if !ok {
		return []string{"it is not in the table"}
	}
	seen[n.Name] = true
	if n.Only != "" && n.Only != layout {
		all = append(all, "the table has it in layout "+n.Only+" alone")
	}
	if w.Op == "create" && w.Ephemeral != n.Ephemeral {
		all = append(all, "its kind is another")
	}
	if w.By == "tool" && w.Op != "delete" && !strings.Contains(n.By, "console") {
		all = append(all, "a console writes it")
	}
	if err := n.Check(w.Data); err != nil && w.Op != "delete" {
		all = append(all, err.Error())
	}
	return all
}

func TestNodeOf(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{
		"config/cron": ConfigKey, "servers/10.0.0.1/status": Status, "execution/12/running": Running, "systemTime/current0000000003": Clock,
		"systemTime/current": Clock, "leader/election/latch/_c_x-latch-0000000001": Contender, "servers/10.0.0.1": Server, "leader": "leader",
		"execution/012/running": "", "execution/x": "", "sharding/0": "", "leader/election/latch/x": "", "": "", "config/a/b": "",
		"servers/10.0.0.1/status/x": "", "systemTime/currently": "",
	} {
		n, arg, ok := NodeOf(path)
		if n.Name != want || ok != (want != "") {
			t.Errorf("%q: got %q (%q), %v, want %q", path, n.Name, arg, ok, want)
		}
	}
}

func TestItems(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]int{"": nil, "0": {0}, "3,0,12": {3, 0, 12}} {
		got, err := ParseItems(text)
		if err != nil || !slices.Equal(got, want) || FormatItems(got) != text {
			t.Errorf("%q: got %v, %v", text, got, err)
		}
	}
	for _, text := range []string{",", "1,", " 1", "1, 2", "-1", "01", "1,1", "100000", "x", strings.Repeat("1", maxText+1)} {
		if got, err := ParseItems(text); err == nil {
			t.Errorf("%.30q is read as %v", text, got)
		}
	}
}

func FuzzValues(f *testing.F) {
	for _, s := range []string{"", "0,1,2", "READY", "1795898450144", "10.0.0.1", "-1", "::1", "1,,2"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if items, err := ParseItems(text); err == nil && FormatItems(items) != text {
			t.Errorf("%q is read as %v", text, items)
		}
		for _, n := range Nodes {
			_ = n.Check(text) // it must not panic
		}
		NodeOf(text)
	})
}
