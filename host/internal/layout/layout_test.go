package layout

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/registry"
)

// Each layout that a configuration can name exists, and no other one does.
func TestLayoutsAreThoseOfTheSetting(t *testing.T) {
	t.Parallel()
	for s := range job.Settings() {
		if s.Name != "layout" {
			continue
		}
		if len(s.Words) != len(layouts) {
			t.Errorf("the setting has %q, there are %d layouts", s.Words, len(layouts))
		}
		for _, word := range s.Words {
			if !Known(word) {
				t.Errorf("nobody spells layout %q", word)
			}
		}
	}
	if Known("4") || Known("") {
		t.Error("a layout that is not there is known")
	}
}

// A job's tree shows its layout.
func TestTreesHaveTheirLayout(t *testing.T) {
	t.Parallel()
	const config21 = `{"jobName":"j"}`
	for name, tree := range map[string]struct {
		nodes map[string]string
		want  string // empty: it shows no layout
	}{
		"nothing":                {nil, ""},
		"no configuration":       {map[string]string{"": "", "servers": "", "servers/10.0.0.1": ""}, ""},
		"what is none":           {map[string]string{"": "", "config": "?"}, ""},
		"JSON":                   {map[string]string{"": "", "config": " \n" + config21}, "2.1"},
		"JSON behind a mark":     {map[string]string{"": "", "config": "\ufeff" + config21}, "2.1"},
		"an enabled server":      {map[string]string{"": "", "config": config21, "servers/10.0.0.1": "", "servers/10.0.0.2": "DISABLED"}, "2.1"},
		"YAML":                   {map[string]string{"": "", "config": "cron: 0 * * * * ?\njobName: j\n"}, "3"},
		"YAML that is ours":      {map[string]string{"": "wasmjobd.WasmJob", "config": "jobName: j\n", "wasm": ""}, "3"},
		"a class":                {map[string]string{"": "com.acme.Job", "config": "cron: 0 * * * * ?\n"}, "3"},
		"a class above JSON":     {map[string]string{"": "com.acme.Job", "config": config21}, "3"},
		"a class alone":          {map[string]string{"": "SCRIPT"}, "3"},
		"a server with a status": {map[string]string{"": "", "config": config21, "servers/10.0.0.1": "", "servers/10.0.0.2/status": "READY"}, "2.0"},
		"a server with a name":   {map[string]string{"": "", "config": config21, "servers/10.0.0.2/hostName": "a"}, "2.0"},
		"items that have run":    {map[string]string{"": "", "config": config21, "execution/0": ""}, "2.0"},
		"items beside instances": {map[string]string{"": "", "config": config21, "execution/0": "", "instances": ""}, "2.1"},
		"a key beside a text":    {map[string]string{"": "", "config": config21, "config/cron": "0 * * * * ?"}, "2.1"},
		"keys beside instances":  {map[string]string{"": "", "config/cron": "0 * * * * ?", "instances": ""}, ""},
		"a node for each key":    {map[string]string{"": "", "config/cron": "0 * * * * ?", "servers/10.0.0.2/hostName": "a"}, "1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			nodes := nodesOf("/n/j", tree.nodes)
			var servers []registry.Node
			for _, ip := range nodes["/n/j/servers"].Children {
				servers = append(servers, nodes["/n/j/servers/"+ip])
			}
			if got := Of(nodes["/n/j"], nodes["/n/j/config"], servers); got != tree.want {
				t.Errorf("layout %q, want %q", got, tree.want)
			}
			l, err := Found("n", "j", func(paths []string) ([]registry.Node, error) {
				var all []registry.Node
				for _, path := range paths {
					all = append(all, nodes[path])
				}
				return all, nil
			})
			if err != nil || l.Root() != "/n/j" {
				t.Errorf("found %v, %v", l, err)
			}
		})
	}
	if _, err := Found("n", "j", func([]string) ([]registry.Node, error) { return nil, registry.ErrDenied }); !errors.Is(err, registry.ErrDenied) {
		t.Errorf("what cannot be read gives %v", err)
	}
}

// nodesOf returns the nodes below a job by path, with all nodes above them.
func nodesOf(root string, values map[string]string) map[string]registry.Node {
	nodes := map[string]registry.Node{}
	for name, value := range values {
		at := strings.TrimSuffix(root+"/"+name, "/")
		n := nodes[at]
		n.Exists, n.Data = true, []byte(value)
		nodes[at] = n
		for at != root {
			k := strings.LastIndexByte(at, '/')
			above, child := at[:k], at[k+1:]
			n := nodes[above]
			n.Exists = true
			if !slices.Contains(n.Children, child) {
				n.Children = append(n.Children, child)
			}
			nodes[above], at = n, above
		}
	}
	return nodes
}

// A definition is written and read by the layout that its job names, and keeps that name.
func TestDefinitionsKeepTheirLayout(t *testing.T) {
	t.Parallel()
	for name := range layouts {
		c := job.Config{Name: "j", Layout: name, Kind: job.Simple, Cron: "0 0 2 * * ?", Shards: 3, Failover: true, MonitorExecution: true, MaxClockSkew: -1}
		l := New(name, "ns", c.Name)
		spelled, err := l.Spell(protocol.Definition{}, l.Define(c))
		if err != nil {
			t.Fatal(err)
		}
		v := l.NewDecoder(nil).View()
		v.Definition, v.HasModule = spelled, true
		config, module := l.Defined(v)
		if config == nil || module == nil {
			t.Fatalf("layout %s cannot read %s and %s", name, spelled.Config, spelled.Module)
		}
		if facts := config.Facts(); facts.Layout != name || facts.Name != "j" || !facts.Failover || facts.Kind != job.Simple {
			t.Errorf("layout %s reads %+v", name, facts)
		}
		again, err := l.Spell(spelled, l.Define(c))
		if err != nil || !again.Same(spelled) {
			t.Errorf("layout %s spells the same otherwise: %s, %v", name, again.Config, err)
		}
		if err := Check(c); err != nil {
			t.Error(err)
		}
		if c.Shards = 0; Check(c) == nil {
			t.Errorf("layout %s takes a job without items", name)
		}
	}
}

// The mark of an unfinished removal is followed only where nodes of ours exist without a
// configuration, so it costs other jobs nothing.
func TestTheMarkOfARemovalIsSeenWhereThereIsNoJob(t *testing.T) {
	t.Parallel()
	for name := range layouts {
		l := New(name, "jobs", "j")
		_, mark := l.Removal()
		d := l.NewDecoder(nil)
		d.Apply(mark, registry.Node{Exists: true})
		for _, tt := range []struct {
			children []string
			rest     bool
		}{{nil, false}, {[]string{"wasm"}, true}, {[]string{"config", "wasm"}, false}, {[]string{"config"}, false}, {[]string{"below", "wasm"}, true}} {
			root := registry.Node{Exists: true, Children: tt.children}
			if below := l.Below("", root); len(below) > 0 != tt.rest || tt.rest && l.At(below[0]) != mark {
				t.Errorf("layout %s: below %v %v is followed", name, tt.children, below)
			}
			if d.Apply(l.Root(), root); d.View().Rest != tt.rest {
				t.Errorf("layout %s: %v is a rest: %v", name, tt.children, !tt.rest)
			}
		}
		d.Apply(l.Root(), registry.Node{Exists: true, Children: []string{"wasm"}})
		if d.Apply(mark, registry.Node{}); d.View().Rest {
			t.Errorf("layout %s: without a mark", name)
		}
	}
}

// The largest interval of ElasticJob, some 4,000 years, is the longest one that a server of ours has. Nothing
// overflows.
func TestTheLongestInterval(t *testing.T) {
	t.Parallel()
	for of, config := range map[string]string{
		job.Layout20: `{"jobName":"j","jobClass":"a","jobType":"SIMPLE","cron":"0 * * * * ?","shardingTotalCount":1,"reconcileIntervalMinutes":2147483647}`,
		job.Layout21: `{"jobName":"j","jobClass":"a","jobType":"SIMPLE","cron":"0 * * * * ?","shardingTotalCount":1,"reconcileIntervalMinutes":2147483647}`,
		job.Layout3:  "jobName: j\nshardingTotalCount: 1\nreconcileIntervalMinutes: 2147483647\n",
	} {
		l := New(of, "ns", "j")
		d, err := l.ReadDefinition(Kept{Config: registry.Node{Exists: true, Data: []byte(config)}}, registry.Node{Exists: true, Data: []byte(`{"v":1}`)})
		if err != nil {
			t.Fatal(err)
		}
		c := d.Config.Apply(job.Config{Name: "j", Layout: of})
		if is := c.ReconcileEvery; is < 0 || of != job.Layout20 && is < 200*365*24*time.Hour {
			t.Errorf("layout %s: %v", of, is)
		}
	}
}
