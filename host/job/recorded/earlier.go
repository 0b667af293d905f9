package recorded

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
)

// Flow is a named part of the writes that members of an earlier release made.
type Flow struct {
	Name   string
	Writes []Write
}

// Write is one write, in ZooKeeper's order. By is "tool" for the operator's writes, else a
// member.
type Write struct {
	By, Op, Path string
	Data         string
	Ephemeral    bool
	Ops          []Write  // for a "multi"
	Removes      []string // for a "closeSession"
}

// Each returns the writes of a flow one by one, also those within a transaction, and its checks.
// Nodes that vanished with a session count as deleted by its member.
func (f Flow) Each() []Write {
	var all []Write
	for _, w := range f.Writes {
		switch {
		case w.Op == "multi":
			for _, op := range w.Ops {
				op.By = w.By
				all = append(all, op)
			}
		case len(w.Removes) > 0:
			for _, p := range w.Removes {
				all = append(all, Write{By: w.By, Op: "delete", Path: p})
			}
		case w.Path != "":
			all = append(all, w)
		}
	}
	return all
}

// EarlierFlows returns the flows of a recording of an earlier release, such as
// "ej1/basic.json".
func EarlierFlows(t testing.TB, file string) []Flow {
	t.Helper()
	var r struct{ Flows []Flow }
	if err := json.Unmarshal(Earlier(t, file), &r); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	if len(r.Flows) == 0 {
		t.Fatalf("%s has no flows", file)
	}
	return r.Flows
}

// Earlier reads a file with writes or answers of earlier releases, which test/record made.
func Earlier(t testing.TB, file string) []byte {
	t.Helper()
	data, err := os.ReadFile(Root(t) + "/" + earlier + "/" + file)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// EarlierTree returns the data of all nodes by path, at a moment of a recording.
func EarlierTree(t testing.TB, file, moment string) map[string]string {
	t.Helper()
	var r struct {
		Moments []struct {
			Name string
			Tree []struct{ Path, Data string }
		}
	}
	if err := json.Unmarshal(Earlier(t, file), &r); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	for _, m := range r.Moments {
		if m.Name != moment {
			continue
		}
		all := map[string]string{}
		for _, n := range m.Tree {
			all[n.Path] = n.Data
		}
		return all
	}
	t.Fatalf("%s has no moment %q", file, moment)
	return nil
}

// AtRest returns the persistent nodes of a job at a moment of a recording, whose text is data:
// their data by path below the job's own node, which has the path "".
func AtRest(t testing.TB, data []byte, moment string) map[string]string {
	t.Helper()
	var r struct {
		Moments []struct {
			Name string
			Tree []struct {
				Path, Data string
				Ephemeral  bool
			}
		}
	}
	if err := json.Unmarshal(data, &r); err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, m := range r.Moments {
		for _, n := range m.Tree {
			if _, path, found := strings.Cut(n.Path, "/job"); m.Name == moment && found && !n.Ephemeral {
				all[strings.TrimPrefix(path, "/")] = n.Data
			}
		}
	}
	if len(all) == 0 {
		t.Fatalf("there is no job at the moment %q", moment)
	}
	return all
}

// EarlierScenarios returns the names of the recordings in a folder such as "ej1".
func EarlierScenarios(t testing.TB, folder string) []string {
	t.Helper()
	return names(t, Root(t)+"/"+earlier+"/"+folder)
}
