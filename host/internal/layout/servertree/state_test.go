package servertree

import (
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wasmjob/wasmjob/host/job/recorded"
	"github.com/wasmjob/wasmjob/host/registry"
)

const root = "/ns/job"

// reads is a reader of a tree.
func reads(tree map[string]string) func(path string) (registry.Node, error) {
	return func(path string) (registry.Node, error) {
		data, ok := tree[path]
		n := registry.Node{Exists: ok, Data: []byte(data)}
		for p := range tree {
			if name, below := strings.CutPrefix(p, path+"/"); below && !strings.Contains(name, "/") {
				n.Children = append(n.Children, name)
			}
		}
		slices.Sort(n.Children)
		return n, nil
	}
}

// In layout 1 a paused server has no items. In 2.0 it keeps them, and none of them runs;
// and a console removes no server there while a member leads.
func TestReadRecordedTrees(t *testing.T) {
	t.Parallel()
	member := func(ip, status string, items ...int) Member { return Member{IP: ip, Status: status, Items: items} }
	paused := func(items ...int) Member { return Member{IP: "10.0.0.2", Status: Ready, Items: items, Paused: true} }
	for _, c := range []struct {
		file, moment string
		leader       string
		want         []Member
	}{
		{"ej1/basic", "during execution", "10.0.0.1", []Member{member("10.0.0.1", RunsNow, 0, 1), member("10.0.0.2", RunsNow, 2, 3)}},
		{"ej20/basic", "during execution", "10.0.0.1", []Member{member("10.0.0.1", RunsNow, 0, 1), member("10.0.0.2", RunsNow, 2, 3)}},
		{"ej1/basic", "at the end", "10.0.0.1", []Member{member("10.0.0.1", Ready, 0, 3), member("10.0.0.2", Ready, 1), member("10.0.0.3", Ready, 2)}},
		{"ej1/pause", "at the end", "10.0.0.1", []Member{member("10.0.0.1", Ready, 0, 1, 2, 3), paused()}},
		{"ej20/pause", "at the end", "10.0.0.1", []Member{member("10.0.0.1", Ready, 0, 1), paused(2, 3)}},
		{"ej1/shutdown", "without members", "", []Member{member("10.0.0.1", "", 0, 1, 2, 3)}},
		{"ej20/shutdown", "without members", "", []Member{member("10.0.0.1", "", 0, 1, 2, 3), member("10.0.0.2", "")}},
	} {
		got, err := Read(root, reads(recorded.EarlierTree(t, c.file+".json", c.moment)))
		if err != nil || got.Fault != nil || got.Leader != c.leader {
			t.Errorf("%s, %s: leader %q, %v, %v", c.file, c.moment, got.Leader, got.Fault, err)
		}
		if diff := cmp.Diff(c.want, got.Servers); diff != "" {
			t.Errorf("%s, %s: %s", c.file, c.moment, diff)
		}
	}
}

func TestValuesThatAreNotElasticJobs(t *testing.T) {
	t.Parallel()
	good := map[string]string{
		root: "", root + "/servers": "", root + "/servers/10.0.0.1": "", root + "/servers/10.0.0.1/status": Ready, root + "/servers/10.0.0.1/sharding": "0",
		root + "/leader/election/host": "10.0.0.1",
	}
	many := map[string]string{}
	for k := range MaxServers + 1 {
		many[root+"/servers/"+strconv.Itoa(k)] = ""
	}
	for want, change := range map[string]map[string]string{
		"servers/10.0.0.1/status: \"ready\"":       {root + "/servers/10.0.0.1/status": "ready"},
		"servers/10.0.0.1/sharding: \"a\" is":      {root + "/servers/10.0.0.1/sharding": "0,a"},
		"leader/election/host: \"here\"":           {root + "/leader/election/host": "here"},
		"servers: \"\\x1b[2J\" is no IPv4 address": {root + "/servers/\x1b[2J": ""},
		"1002 servers, more than 1000":             many,
	} {
		tree := maps.Clone(good)
		maps.Copy(tree, change)
		got, err := Read(root, reads(tree))
		if err != nil || got.Fault == nil || !strings.Contains(got.Fault.Error(), root+"/") || !strings.Contains(got.Fault.Error(), want) {
			t.Errorf("got %v, %v, want %s", got.Fault, err, want)
		}
	}
	broken := errors.New("no registry")
	if _, err := Read(root, func(string) (registry.Node, error) { return registry.Node{}, broken }); !errors.Is(err, broken) {
		t.Errorf("got %v, want %v", err, broken)
	}
}

func TestMembersInWords(t *testing.T) {
	t.Parallel()
	for want, m := range map[string]Member{
		"10.0.0.1, READY, items 3,1":                  {IP: "10.0.0.1", Status: Ready, Items: []int{3, 1}},
		"10.0.0.2, gone, disabled, paused, shut down": {IP: "10.0.0.2", Disabled: true, Paused: true, Shutdown: true},
	} {
		if got := m.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
