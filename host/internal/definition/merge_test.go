package definition_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wasmjob/wasmjob/host/internal/admission"
	"github.com/wasmjob/wasmjob/host/internal/definition"
	"github.com/wasmjob/wasmjob/host/internal/layout"
	"github.com/wasmjob/wasmjob/host/internal/layout/v21"
	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/reason"
)

// held is a registry with one job in it.
type held struct {
	config *v21.Config
	module *definition.Module
}

// held returns the registry's configuration, or nil if there is none.
func (h *held) held() definition.Config {
	if h.config == nil {
		return nil
	}
	return *h.config
}

// define returns the definition of a job in a file.
func define(j job.Config) definition.Definition { return spelling.Define(j) }

var spelling = layout.NewJob("", "j")

// apply starts a server with this file. Both nodes are encoded and decoded.
func (h *held) apply(t *testing.T, file job.Config, digest string) (disputed []string) {
	t.Helper()
	before := h.job
	if h.config == nil || h.module == nil {
		before = nil
	}
	var was job.Config
	if before != nil {
		was = before()
	}
	file.ModuleDigest = digest
	merged, err := definition.Merge(define(file), h.held(), h.module)
	if err != nil {
		t.Fatal(err)
	}
	if h.config != nil {
		h.joins(t, file, &merged)
	}
	spelled, err := spelling.Spell(protocol.Definition{}, merged.Definition)
	if err != nil {
		t.Fatal(err)
	}
	if h.config, err = v21.DecodeConfig([]byte(spelled.Config.String())); err != nil {
		t.Fatal(err)
	}
	m, err := definition.DecodeModule([]byte(spelled.Module.String()))
	if err != nil {
		t.Fatalf("%s: %v", spelled.Module, err)
	}
	h.module = &m
	if before != nil && (len(merged.Changed) > 0) != !cmp.Equal(was, h.job()) {
		t.Errorf("changed %v, from %+v to %+v", merged.Changed, was, h.job())
	}
	return keysOf(merged.Disputed)
}

func keysOf(disputed []definition.Dispute) (keys []string) {
	for _, d := range disputed {
		keys = append(keys, d.Key)
	}
	return keys
}

// operate applies an operator's change.
func (h *held) operate(change func(*job.Config)) {
	d := definition.Definition{Config: *h.config, Module: *h.module}
	j := d.Job(job.Config{})
	change(&j)
	now := define(j)
	config := now.Config.(v21.Config)
	h.config = &config
	h.module.Set(&now.Module)
}

func (h *held) job() job.Config {
	d := definition.Definition{Config: *h.config, Module: *h.module}
	return d.Job(job.Config{})
}

func TestMerge(t *testing.T) {
	t.Parallel()
	type change = func(*job.Config)
	nothing := func(*job.Config) {}
	cron := func(c string) change { return func(j *job.Config) { j.Cron = c } }
	memory := func(n int64) change { return func(j *job.Config) { j.Limits.Memory = n } }
	setting := func(key, value string) change {
		return func(j *job.Config) {
			j.Settings = maps.Clone(j.Settings)
			if delete(j.Settings, key); value != "" {
				j.Settings[key] = value
			}
		}
	}
	const old, mine, theirs = "0 0 1 * * ?", "0 0 2 * * ?", "0 0 3 * * ?"
	for _, tt := range []struct {
		name     string
		operator change
		file     change
		want     change // relative to the state before
		disputed []string
	}{
		{name: "nobody_changes", operator: nothing, file: nothing, want: nothing},
		{name: "the_file_changes_config", operator: nothing, file: cron(mine), want: cron(mine)},
		{name: "the_file_changes_module", operator: nothing, file: memory(2 << 20), want: memory(2 << 20)},
		{name: "the_operator_changes_config", operator: cron(theirs), file: nothing, want: cron(theirs)},
		{name: "the_operator_changes_module", operator: memory(3 << 20), file: nothing, want: memory(3 << 20)},
		{name: "both_to_the_same", operator: cron(mine), file: cron(mine), want: cron(mine)},
		{name: "both_change_config", operator: cron(theirs), file: cron(mine), want: cron(theirs), disputed: []string{"cron"}},
		{name: "both_change_module", operator: memory(3 << 20), file: memory(2 << 20), want: memory(3 << 20), disputed: []string{"limits.memory"}},
		{
			name: "each_another_key", operator: cron(theirs), file: memory(2 << 20),
			want: func(j *job.Config) { j.Cron = theirs; j.Limits.Memory = 2 << 20 },
		},
		{
			name: "each_another_value_of_the_author", operator: setting("a", "3"), file: setting("b.c", "2"),
			want: func(j *job.Config) { j.Settings = map[string]string{"a": "3", "b.c": "2"} },
		},
		{name: "both_the_same_value_of_the_author", operator: setting("b.c", "3"), file: setting("b.c", "2"), want: setting("b.c", "3"), disputed: []string{`config."b.c"`}},
		{name: "the_file_takes_a_value_away", operator: nothing, file: setting("a", ""), want: setting("a", "")},
		{name: "the_operator_adds_a_value", operator: setting("x", "1"), file: nothing, want: setting("x", "1")},
		{name: "the_operator_takes_a_value_away", operator: setting("a", ""), file: nothing, want: setting("a", "")},
		{name: "taken_away_and_changed", operator: setting("a", "3"), file: setting("a", ""), want: setting("a", "3"), disputed: []string{"config.a"}},
		{
			name: "overwrite", operator: func(j *job.Config) { j.Cron = theirs; j.Settings = map[string]string{"x": "1"} },
			file: func(j *job.Config) { j.Overwrite = true; j.Cron = mine },
			want: func(j *job.Config) { j.Overwrite = true; j.Cron = mine },
		},
		{
			name: "grants", operator: func(j *job.Config) { j.Allow.Random = true },
			file: func(j *job.Config) { j.Allow.State = true },
			want: func(j *job.Config) { j.Allow.Random, j.Allow.State = true, true },
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			before := plainJob()
			before.Cron, before.Settings = old, map[string]string{"a": "1", "b.c": "1"}
			var h held
			if d := h.apply(t, before, digestA); len(d) > 0 {
				t.Fatalf("the first definition is in dispute: %v", d)
			}
			h.operate(tt.operator)
			file, want := before, before
			tt.file(&file)
			tt.want(&want)
			for range 2 { // a second start changes nothing more
				disputed := h.apply(t, file, digestA)
				if !slices.Equal(disputed, tt.disputed) {
					t.Errorf("disputed %v, want %v", disputed, tt.disputed)
				}
				if d := cmp.Diff(want, h.job()); d != "" {
					t.Errorf("-want +got:\n%s", d)
				}
			}
		})
	}
}

func TestDisputeEnds(t *testing.T) {
	t.Parallel()
	dispute := func(t *testing.T) (*held, job.Config) {
		t.Helper()
		var h held
		file := plainJob()
		h.apply(t, file, digestA)
		h.operate(func(j *job.Config) { j.Shards = 7 })
		file.Shards = 5
		if d := h.apply(t, file, digestA); !slices.Equal(d, []string{"shardingTotalCount"}) {
			t.Fatal(d)
		}
		return &h, file
	}
	t.Run("file_gives_in", func(t *testing.T) {
		t.Parallel()
		h, file := dispute(t)
		file.Shards = 7
		if d := h.apply(t, file, digestA); len(d) > 0 || h.job().Shards != 7 {
			t.Error(d, h.job().Shards)
		}
		file.Shards = 9 // from now on the file decides again
		if d := h.apply(t, file, digestA); len(d) > 0 || h.job().Shards != 9 {
			t.Error(d, h.job().Shards)
		}
	})
	t.Run("operator_gives_in", func(t *testing.T) {
		t.Parallel()
		h, file := dispute(t)
		h.operate(func(j *job.Config) { j.Shards = 5 })
		if d := h.apply(t, file, digestA); len(d) > 0 || h.job().Shards != 5 {
			t.Error(d, h.job().Shards)
		}
	})
	t.Run("overwrite", func(t *testing.T) {
		t.Parallel()
		h, file := dispute(t)
		file.Overwrite = true
		if d := h.apply(t, file, digestA); len(d) > 0 || h.job().Shards != 5 {
			t.Error(d, h.job().Shards)
		}
	})
}

// A dispute uses the names of jobs.toml, not those of Java.
func TestDisputeIsReadable(t *testing.T) {
	t.Parallel()
	here, there := plainJob(), plainJob()
	here.ItemParams, there.ItemParams = "0=<ä>", "0='b'"
	d := define(there)
	m, err := definition.Merge(define(here), d.Config, nil)
	if err != nil || len(m.Disputed) != 1 {
		t.Fatalf("%v, %v", m.Disputed, err)
	}
	if want := `shardingItemParameters: the registry has "0='b'", this server's file "0=<ä>"`; m.Disputed[0].String() != want {
		t.Errorf("%s, want %s", m.Disputed[0], want)
	}
}

// A job that another server has defined contains nothing of this file.
func TestMergeWithoutBase(t *testing.T) {
	t.Parallel()
	theirs := v21.FromJob(plainJob())
	theirs.JobClass, theirs.MonitorPort, theirs.JobProperties.JobExceptionHandler = "com.example.Job", 9888, "com.example.Handler"
	theirs.ShardingTotalCount = 8
	h := held{config: &theirs}
	file := plainJob()
	file.Class, file.Timeout = theirs.JobClass, 5
	for range 2 {
		if d := h.apply(t, file, digestA); !slices.Equal(d, []string{"shardingTotalCount"}) {
			t.Error(d)
		}
		c := h.config
		if c.JobClass != "com.example.Job" || c.MonitorPort != 9888 || c.JobProperties.JobExceptionHandler != "com.example.Handler" {
			t.Errorf("what a file has no word for was changed: %+v", c)
		}
		if j := h.job(); j.Shards != 8 || j.Timeout != 5 || h.module.Code.Digest != digestA {
			t.Errorf("%+v", j)
		}
	}
}

// A file that names no class uses the one of wasm/module: another server's file has said
// that the module stands in for it.
func TestMergeOfAFileWithoutClass(t *testing.T) {
	t.Parallel()
	const class = "com.example.Job"
	theirs := v21.FromJob(plainJob())
	theirs.JobClass = class
	without, with := plainJob(), plainJob()
	with.Class = class
	h := held{config: &theirs}
	decide := func(foreign bool) admission.Verdict {
		f, _ := layout.AdmissionFacts(layout.NewJob("ns", "j"), &without, h.held(), h.module, foreign)
		return admission.Decide(&f)
	}
	if v := decide(false); !v.Barred() {
		t.Error("it joins what nobody of ours has joined")
	}
	if d := h.apply(t, with, digestA); len(d) > 0 || h.job().Class != class {
		t.Fatal(d, h.job().Class)
	}
	if v := decide(false); v.Barred() {
		t.Errorf("it does not join what another server's file has named the class of: %v", v.Blockers)
	}
	if d := h.apply(t, without, digestA); len(d) > 0 || h.config.JobClass != class || h.job().Class != class {
		t.Errorf("%v, class %q in config, %q in module", d, h.config.JobClass, h.job().Class)
	}
	h.config.JobClass = "com.example.Other" // the module does not stand in for it
	if v := decide(false); v.Barred() || len(v.OnlyAlone) == 0 {
		t.Errorf("who starts does not join it for the class before, or does so in silence: %v", v.Blockers)
	}
	if v := decide(true); !v.Barred() || v.Blockers[0].Code != reason.ClassNotNamed && v.Blockers[0].Code != reason.ClassDiffers {
		t.Error("who starts joins it beside members of ElasticJob")
	}
	h.config.JobClass = class
	without.Overwrite = true
	if d := h.apply(t, without, digestA); len(d) > 0 || h.config.JobClass != v21.WasmClass || h.job().Class != "" {
		t.Errorf("%v, class %q in config, %q in module", d, h.config.JobClass, h.job().Class)
	}
}

// A default of the file is not in dispute until the registry has held the same value.
func TestMergeOfWhatAFileDoesNotSay(t *testing.T) {
	t.Parallel()
	file := plainJob()
	file.Strategy = "average"
	theirs := v21.FromJob(file)
	theirs.Misfire, theirs.Failover, theirs.ShardingTotalCount, theirs.JobShardingStrategyClass = false, true, 8, ""
	h := held{config: &theirs}
	file.Unsaid = []string{"misfire", "shards"}
	if d := h.apply(t, file, digestA); !slices.Equal(d, []string{"failover"}) || *h.config != theirs {
		t.Error(d, h.config)
	}
	file.Shards, file.Unsaid = 9, []string{"misfire"}
	if d := h.apply(t, file, digestA); !slices.Equal(d, []string{"failover", "shardingTotalCount"}) || *h.config != theirs {
		t.Error(d, h.config)
	}
	file.Shards = 8
	if d := h.apply(t, file, digestA); !slices.Equal(d, []string{"failover"}) || *h.config != theirs {
		t.Error(d, h.config)
	}
	said, err := definition.Merge(define(file), h.held(), h.module)
	if err != nil {
		t.Fatal(err)
	}
	file.Shards, file.Unsaid = 1, []string{"misfire", "shards"}
	if d := h.apply(t, file, digestA); !slices.Equal(d, []string{"failover"}) || h.config.ShardingTotalCount != 8 {
		t.Error("a file that never said it:", d, h.config)
	}
	d := define(file)
	if err := d.Recall(said.Said()); err != nil {
		t.Fatal(err)
	}
	taken, err := definition.Merge(d, h.held(), h.module)
	if err != nil || taken.Config.(v21.Config).ShardingTotalCount != 1 {
		t.Error("somebody took it out of the file:", err, taken.Config)
	}
}

// A pinned module stays, whatever files say. When the pin is lifted, the file counts
// again as before.
func TestMergeOfAPinnedModule(t *testing.T) {
	t.Parallel()
	const digestC = "cccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc"
	for _, overwrite := range []bool{false, true} {
		var h held
		file := plainJob()
		file.Overwrite = overwrite
		h.apply(t, file, digestA)
		h.module.Pinned = true
		for _, digest := range []string{digestB, digestC, digestA, digestB} {
			if d := h.apply(t, file, digest); len(d) > 0 || !h.module.Pinned || h.module.Code.Digest != digestA || h.module.Next != nil {
				t.Errorf("overwrite %v: %s came in spite of the pin: %v, %+v", overwrite, digest, d, h.module)
			}
		}
		h.module.Pinned, file.ModuleDigest = false, digestB
		if merged, err := definition.Merge(define(file), h.held(), h.module); err != nil || merged.Module.Wanted().Digest != digestB {
			t.Errorf("overwrite %v: the file does not count after the pin: %+v, %v", overwrite, merged.Module, err)
		}
	}
	// An operator's change from before the pin stays after it, because the file has not
	// changed.
	var h held
	h.apply(t, plainJob(), digestA)
	h.module.Code, h.module.Pinned = &definition.Code{Name: "hotfix", Digest: digestB}, true
	h.apply(t, plainJob(), digestA)
	h.module.Pinned = false
	if h.apply(t, plainJob(), digestA); h.module.Wanted().Digest != digestB {
		t.Errorf("the pin has made an operator forget: %+v", h.module)
	}
}

func TestMergeOfModules(t *testing.T) {
	t.Parallel()
	var h held
	file := plainJob()
	h.apply(t, file, "") // the module cannot be read
	if h.module.Code != nil {
		t.Errorf("%+v", h.module.Code)
	}
	h.apply(t, file, digestA)
	if h.module.Code == nil || h.module.Code.Digest != digestA {
		t.Fatalf("%+v", h.module.Code)
	}
	h.apply(t, file, "")
	if h.module.Code == nil || h.module.Code.Digest != digestA {
		t.Errorf("a file whose module cannot be read took it away: %+v", h.module.Code)
	}
	h.module.Code = &definition.Code{Name: "hotfix", Digest: digestB}
	if d := h.apply(t, file, digestA); len(d) > 0 || h.module.Wanted().Digest != digestB {
		t.Errorf("an operator's module was replaced: %v, %+v", d, h.module)
	}
	const digestC = "cccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc"
	if d := h.apply(t, file, digestC); !slices.Equal(d, []string{"module"}) || h.module.Wanted().Digest != digestB {
		t.Errorf("%v, %+v", d, h.module)
	}
}
