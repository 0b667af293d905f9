package v1

import (
	"bytes"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wasmjob/wasmjob/host/internal/definition"
	"github.com/wasmjob/wasmjob/host/internal/layout/jobtree"
	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/job/recorded"
	"github.com/wasmjob/wasmjob/host/registry"
	"github.com/wasmjob/wasmjob/host/registry/tree"
)

// commit applies a mutation, decided on a view, to a tree.
func commit(t *testing.T, on *tree.Tree, j jobtree.Job, m protocol.Mutation, v *protocol.View) error {
	t.Helper()
	_, _, err := on.Commit(1, 1, j.Encode(m, v))
	return err
}

// view reads a job with all nodes that a mirror would follow.
func view(on *tree.Tree, j jobtree.Job) *protocol.View {
	d := j.NewDecoder(nil)
	for names := j.Watched(); len(names) > 0; {
		var below []string
		for _, name := range names {
			n := on.Get(j.At(name))
			d.Apply(j.At(name), n)
			below = append(below, j.Below(name, n)...)
		}
		names = below
	}
	return d.View()
}

func file() job.Config {
	return job.Config{Name: "j", Kind: job.Simple, Cron: "0 0 * * * ?", Shards: 3, Misfire: true, MonitorExecution: true, MaxClockSkew: -1, Layout: job.Layout1, Unsaid: []string{"strategy"}}
}

// definedIn returns a tree with the job that a file defines.
func definedIn(t *testing.T, j jobtree.Job) *tree.Tree {
	t.Helper()
	on := tree.New()
	if _, _, err := on.Commit(1, 1, []registry.Op{{Kind: registry.Create, Path: "/n"}}); err != nil {
		t.Fatal(err)
	}
	d, err := j.Spell(protocol.Definition{}, j.Define(file()))
	if err != nil {
		t.Fatal(err)
	}
	if err := commit(t, on, j, protocol.Setup{Definition: d}, view(on, j)); err != nil {
		t.Fatal(err)
	}
	return on
}

// A new job has the nodes of config that a member of 1.1.1 makes, in its order.
func TestANewJobIsWrittenAsInElasticJob(t *testing.T) {
	t.Parallel()
	var want []string
	for _, f := range recorded.EarlierFlows(t, "ej1/basic.json") {
		for _, w := range f.Each() {
			if _, key, ok := strings.Cut(w.Path, "/config/"); ok && w.Op == "create" {
				want = append(want, key)
			}
		}
	}
	j := NewJob("n", "j")
	d, err := j.Spell(protocol.Definition{}, j.Define(file()))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, op := range j.Encode(protocol.Setup{Definition: d}, &protocol.View{ByAddress: true}) {
		if key, ok := strings.CutPrefix(op.Path, "/n/j/config/"); ok {
			got = append(got, key)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// A change writes only the keys that differ, and is refused if any key has changed,
// appeared or disappeared since. Unknown keys stay.
func TestAChangeSeesEachKey(t *testing.T) {
	t.Parallel()
	j := NewJob("n", "j")
	at := func(key string) string { return "/n/j/config/" + key }
	changed := file()
	changed.Cron, changed.Shards = "0 1 * * * ?", 5
	for name, c := range map[string]struct {
		meanwhile []registry.Op
		refused   bool
	}{
		"alone":                    {},
		"an unknown key":           {meanwhile: []registry.Op{{Kind: registry.Create, Path: at("color"), Data: []byte("red")}}},
		"a key that it writes":     {meanwhile: []registry.Op{{Kind: registry.Set, Path: at("cron"), Data: []byte("x"), Version: registry.AnyVersion}}, refused: true},
		"a key that it leaves":     {meanwhile: []registry.Op{{Kind: registry.Set, Path: at("failover"), Data: []byte("true"), Version: registry.AnyVersion}}, refused: true},
		"a key that was not there": {meanwhile: []registry.Op{{Kind: registry.Create, Path: at("fetchDataCount"), Data: []byte("1")}}, refused: true},
		"a key that has gone":      {meanwhile: []registry.Op{{Kind: registry.Delete, Path: at("misfire"), Version: registry.AnyVersion}}, refused: true},
		"a text":                   {meanwhile: []registry.Op{{Kind: registry.Set, Path: "/n/j/config", Data: []byte("{}"), Version: registry.AnyVersion}}, refused: true},
	} {
		on := definedIn(t, j)
		v := view(on, j)
		d, err := j.Spell(v.Definition, j.Define(changed))
		if err != nil {
			t.Fatal(err)
		}
		if len(c.meanwhile) > 0 {
			if _, _, err := on.Commit(1, 1, c.meanwhile); err != nil {
				t.Fatal(err)
			}
		}
		m := protocol.PutConfig{Config: d.Config}
		var writes []string
		for _, op := range j.Encode(m, v) {
			if op.Kind != registry.Check && op.Kind != registry.Absent {
				writes = append(writes, strings.TrimPrefix(op.Path, "/n/j/"))
			}
		}
		if want := []string{"config/shardingTotalCount", "config/cron", "wasm"}; !slices.Equal(writes, want) {
			t.Errorf("%s: it writes %q, want %q", name, writes, want)
		}
		if err := commit(t, on, j, m, v); (err != nil) != c.refused {
			t.Errorf("%s: %v", name, err)
		}
		if now := view(on, j); !c.refused && (now.Config == nil || now.Config.Total != 5 || now.ConfigVersion == v.ConfigVersion || !now.Definition.Config.Same(d.Config)) {
			t.Errorf("%s: it is %+v, %s", name, now.Config, now.Definition.Config)
		}
	}
}

// A key that was deleted and created again has the version of the one before, but the
// configuration has another. The total's own key counts how often it was written.
func TestAKeyMadeAnew(t *testing.T) {
	t.Parallel()
	j := NewJob("n", "j")
	on := definedIn(t, j)
	was := view(on, j)
	failover := "/n/j/config/failover"
	for _, ops := range [][]registry.Op{
		{{Kind: registry.Set, Path: "/n/j/config", Data: []byte(" \n"), Version: registry.AnyVersion}}, // blanks are not a text
		{{Kind: registry.Set, Path: "/n/j/config/shardingTotalCount", Data: []byte("4"), Version: registry.AnyVersion}},
		{{Kind: registry.Delete, Path: failover, Version: registry.AnyVersion}},
		{{Kind: registry.Create, Path: failover, Data: []byte("true")}},
	} {
		if _, _, err := on.Commit(1, 1, ops); err != nil {
			t.Fatal(err)
		}
		now := view(on, j)
		if now.ConfigVersion == was.ConfigVersion || now.Config == nil {
			t.Errorf("after %+v it is %+v, of version %s", ops, now.Config, now.ConfigVersion)
		}
		was = now
	}
	if was.ConfigSets != 1 || !was.Config.Failover || was.Config.Total != 4 {
		t.Errorf("it is %+v, set %d times", was.Config, was.ConfigSets)
	}
	changed := file()
	changed.Shards = 5
	d, err := j.Spell(was.Definition, j.Define(changed))
	if err != nil {
		t.Fatal(err)
	}
	if err := commit(t, on, j, protocol.PutConfig{Config: d.Config}, was); err != nil || view(on, j).Config.Total != 5 {
		t.Errorf("it cannot be changed: %v", err)
	}
}

// A value that ElasticJob does not write is reported with its node, and with what was
// expected there.
func TestKeysThatAreRefused(t *testing.T) {
	t.Parallel()
	j := NewJob("n", "j")
	for name, c := range map[string]struct {
		op   registry.Op
		want string
	}{
		"no number":  {registry.Op{Kind: registry.Set, Path: "/n/j/config/shardingTotalCount", Data: []byte("x")}, `/n/j/config: expected the keys of layout 1, each in a node: config/shardingTotalCount: "x": expected a number of 32 bits`},
		"no cron":    {registry.Op{Kind: registry.Delete, Path: "/n/j/config/cron"}, "/n/j/config: expected the keys of layout 1, each in a node: config/cron is missing or empty"},
		"too long":   {registry.Op{Kind: registry.Set, Path: "/n/j/config/jobParameter", Data: make([]byte, MaxConfig)}, "bytes, more than 983040"},
		"a text":     {registry.Op{Kind: registry.Set, Path: "/n/j/config", Data: []byte(`{"jobName":"j"}`)}, "/n/j/config: it has a text, as in layouts 2.0 and later; expected a job of layout 1; it is not touched"},
		"instances":  {registry.Op{Kind: registry.Create, Path: "/n/j/instances"}, "/n/j: instances is there, as in layouts 2.1 and 3; expected a job of layout 1; it is not touched"},
		"a class":    {registry.Op{Kind: registry.Set, Path: "/n/j", Data: []byte("a.B")}, "/n/j: it names the class"},
		"parameters": {registry.Op{Kind: registry.Set, Path: "/n/j/config/shardingItemParameters", Data: []byte("0")}, "/n/j/config: shardingItemParameters"},
	} {
		on := definedIn(t, j)
		c.op.Version = registry.AnyVersion
		if _, _, err := on.Commit(1, 1, []registry.Op{c.op}); err != nil {
			t.Fatal(err)
		}
		if v := view(on, j); v.Config != nil || !strings.HasPrefix(v.ConfigFault, c.want) && !strings.Contains(v.ConfigFault, c.want) {
			t.Errorf("%s: %+v, %q", name, v.Config, v.ConfigFault)
		}
	}
}

// A setting that the layout cannot keep is refused before anything is written.
func TestAFileThatTheLayoutCannotKeep(t *testing.T) {
	t.Parallel()
	c := file()
	c.Disabled = true
	if _, err := NewJob("n", "j").Define(c).Config.Object(); err == nil || !strings.Contains(err.Error(), "no place for disabled = true") {
		t.Errorf("got %v", err)
	}
	c = file()
	c.Description, c.Param = strings.Repeat("x", MaxConfig/2), strings.Repeat("x", MaxConfig/2)
	if _, err := NewJob("n", "j").Define(c).Config.Object(); err == nil || !strings.Contains(err.Error(), "bytes, more than") {
		t.Errorf("with texts that are too long together: %v", err)
	}
}

// The command of a script may have secrets.
func TestCommandsAreMasked(t *testing.T) {
	t.Parallel()
	j := NewJob("n", "j")
	if got := j.Masked("/n/j/config/scriptCommandLine", []byte("curl -u me:secret")); got != "(17 bytes)" {
		t.Errorf("it shows %q", got)
	}
	if got := j.Masked("/n/j/config", []byte("secret")) + j.Masked("/n/j/config/cron", []byte("c")); strings.Contains(got, "secret") || !strings.HasSuffix(got, "c") {
		t.Errorf("it shows %q", got)
	}
}

// FuzzTexts reads texts of nodes. A text that can be read can be written, and is the same
// then. A write without a change leaves everything as it is, and a change leaves the other
// keys.
func FuzzTexts(f *testing.F) {
	f.Add("shardingTotalCount", "3", "cron", "0 * * * * ?")
	f.Add("jobType", "DATA_FLOW", "streamingProcess", "TRUE")
	f.Add("maxTimeDiffSeconds", "-2147483648", "description", "\xff\u0000")
	f.Fuzz(func(t *testing.T, key, text, second, more string) {
		texts := plain()
		texts[key], texts[second] = text, more
		nodes := map[string]registry.Node{}
		for key, text := range texts {
			nodes[key] = registry.Node{Exists: true, Data: []byte(text)}
		}
		d := dialect{}
		raw := d.Text(jobtree.Kept{Name: "j", Config: registry.Node{Exists: true}, Keys: nodes})
		c, err := d.Parse(raw)
		if err != nil {
			return
		}
		if same, err := d.Update(raw, c); err != nil || !bytes.Equal(same, raw) {
			t.Fatalf("%q became %q: %v", raw, same, err)
		}
		other := c.(defined)
		other.Cron += "?"
		updated, err := d.Update(raw, other)
		if err != nil {
			t.Fatalf("%q: %v", raw, err)
		}
		want, _ := jobtree.SplitKeys(raw)
		want["cron"] = other.Cron
		if got, _ := jobtree.SplitKeys(updated); !maps.Equal(got, want) {
			t.Fatalf("%q became %q", raw, updated)
		}
		d.Rules(c)
		object, err := c.Object()
		if err != nil {
			t.Fatalf("%q cannot be written: %v", raw, err)
		}
		if back, err := c.FromObject(object); err != nil || back != c {
			t.Fatalf("%q is %+v, and reads back as %+v, %v", raw, c, back, err)
		}
	})
}

// Counts of a dataflow that a console has set hold until a file sets others. A file that
// sets none leaves them.
func TestCountsOfADataflow(t *testing.T) {
	t.Parallel()
	j := NewJob("n", "j")
	flow := file()
	flow.Kind, flow.FetchCount = job.Dataflow, 5
	first, err := definition.Merge(j.Define(flow), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	there := first.Config.(defined)
	if there.FetchDataCount != 5 || there.ConcurrentDataProcessThreadCount != 1 {
		t.Errorf("it writes %+v", there)
	}
	there.FetchDataCount, there.ConcurrentDataProcessThreadCount = 9, 3
	merge := func(flow job.Config) job.Config {
		m, err := definition.Merge(j.Define(flow), there, &first.Module)
		if err != nil || len(m.Disputed) > 0 {
			t.Errorf("in dispute: %v, %v", m.Disputed, err)
		}
		return m.Job(flow)
	}
	if got := merge(flow); got.FetchCount != 9 || got.Concurrency != 3 {
		t.Errorf("after a console's word it takes %d in %d parts", got.FetchCount, got.Concurrency)
	}
	flow.FetchCount = 0
	if got := merge(flow); got.FetchCount != 9 || got.Concurrency != 3 {
		t.Errorf("by a file without a word it takes %d in %d parts", got.FetchCount, got.Concurrency)
	}
	if text, err := definition.EncodeModule(first.Module); err != nil || strings.Contains(string(text), "fetch_count") {
		t.Errorf("it is kept twice: %s, %v", text, err)
	}
	there.FetchDataCount = 5 // as its file said before
	again := j.Define(flow)
	if err := again.Recall(first.Said()); err != nil {
		t.Fatal(err)
	}
	if m, err := definition.Merge(again, there, &first.Module); err != nil || m.Job(flow).FetchCount != 0 {
		t.Errorf("it stays in force without the file's word: %v", err)
	}
	there.FetchDataCount, there.ConcurrentDataProcessThreadCount = 1<<31-1, -1
	if got := merge(flow); got.FetchCount != job.MaxBatch || got.Concurrency != 0 {
		t.Errorf("beyond what can be it takes %d in %d parts", got.FetchCount, got.Concurrency)
	}
}
