package operator

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/internal/definition"
	"github.com/wasmjob/wasmjob/host/internal/layout"
	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/registry"
)

// defined writes a job as the first server with the job in its file would.
func defined(t *testing.T, o *Operator, j job.Config) {
	t.Helper()
	l := layout.NewJob("jobs", j.Name)
	first, err := definition.Merge(l.Define(j), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	d, err := l.Spell(protocol.Definition{}, first.Definition)
	if err != nil {
		t.Fatal(err)
	}
	config, module, _ := l.Nodes()
	for _, n := range [][2]string{{l.Root(), ""}, {config, d.Config.String()}, {l.Root() + "/wasm", ""}, {module, d.Module.String()}} {
		put(t, o, registry.Create, n[0], n[1])
	}
}

// Plan distinguishes settings that the file changes, that were changed in the registry since the
// file was applied, and that both have changed. It writes nothing.
func TestPlan(t *testing.T) {
	t.Parallel()
	o := operate(t, passing(t))
	put(t, o, registry.Create, "/jobs", "")
	file := func(name string) job.Config {
		return job.Config{Name: name, Kind: job.Simple, Cron: "0 0 2 * * ?", TimeZone: "UTC", Shards: 4, Param: "old", Overlap: job.Skip, OnRegistryLoss: job.CancelOnLoss, Layout: job.Layout21}
	}
	for _, name := range []string{"calm", "moved", "left", "broken"} {
		defined(t, o, file(name))
	}
	other := layout.NewJob("jobs", "moved")
	at, _, _ := other.Nodes()
	byHand := file("moved")
	byHand.Shards, byHand.Param = 8, "by hand"
	changed, err := definition.Merge(other.Define(byHand), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	d, err := other.Spell(protocol.Definition{}, changed.Definition)
	if err != nil {
		t.Fatal(err)
	}
	put(t, o, registry.Set, at, d.Config.String())
	at, _, _ = layout.NewJob("jobs", "broken").Nodes()
	put(t, o, registry.Set, at, "{")

	moved := file("moved")
	moved.Param, moved.Timeout, moved.Except = "new", time.Minute, []string{"12-25"}
	forced := moved
	forced.Overwrite = true
	want := []Planned{
		{Job: "broken", Action: PlanUnread, Keys: []PlannedKey{}},
		{Job: "calm", Action: PlanSame, Keys: []PlannedKey{}},
		{Job: "comes", Action: PlanNew, Keys: []PlannedKey{}},
		{Job: "left", Action: PlanOther, Keys: []PlannedKey{}},
		{Job: "moved", Action: PlanChanges, Keys: []PlannedKey{
			{"except", "", `["12-25"]`, FateTaken},
			{"jobParameter", `"by hand"`, `"new"`, FateDisputed},
			{"shardingTotalCount", "8", "4", FateDrift},
			{"timeout", "", `"1m0s"`, FateTaken},
		}},
	}
	for range 2 { // the first has changed nothing
		got, err := o.Plan(t.Context(), host.Options{Jobs: []job.Config{moved, file("comes"), file("calm"), file("broken")}})
		if err != nil {
			t.Fatal(err)
		}
		if got[0].Fault == "" {
			t.Error("nothing says why a job cannot be read")
		}
		got[0].Fault = ""
		if d := cmp.Diff(want, got); d != "" {
			t.Error(d)
		}
	}
	got, err := o.Plan(t.Context(), host.Options{Jobs: []job.Config{forced}})
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range got[3].Keys {
		if k.Fate != FateTaken {
			t.Errorf("a file that overwrites: %+v", k)
		}
	}
	if len(got[3].Keys) < 4 || !got[3].Overwrite {
		t.Errorf("a file that overwrites: %+v", got[3])
	}
	if err := o.Close(); err != nil {
		t.Error(err)
	}
}

// A server that has applied its file before does not write the values that another file replaced.
// Plan says which of them ApplyJob would write.
func TestPlanOfAnOlderFile(t *testing.T) {
	t.Parallel()
	o := operate(t, passing(t))
	put(t, o, registry.Create, "/jobs", "")
	as := host.Options{Namespace: "jobs", DataDir: t.TempDir(), Jobs: []job.Config{{Name: "j", Kind: job.Simple, Cron: "0 0 2 * * ?", TimeZone: "UTC", Shards: 4, Param: "old", Overlap: job.Skip, OnRegistryLoss: job.CancelOnLoss, Layout: job.Layout21}}}
	l := layout.NewJob("jobs", "j")
	first, err := definition.Merge(l.Define(as.Jobs[0]), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256([]byte("jobs\nj"))
	path := filepath.Join(as.DataDir, "applied", hex.EncodeToString(sum[:16])+".json")
	if err := errors.Join(os.Mkdir(filepath.Dir(path), 0o700), os.WriteFile(path, first.Said(), 0o600)); err != nil {
		t.Fatal(err)
	}
	newer := as.Jobs[0]
	newer.Shards, newer.Param = 8, "new"
	defined(t, o, newer)
	config, _, _ := l.Nodes()
	byHand := newer
	byHand.Param = "by hand"
	changed, err := definition.Merge(l.Define(byHand), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	d, err := l.Spell(protocol.Definition{}, changed.Definition)
	if err != nil {
		t.Fatal(err)
	}
	put(t, o, registry.Set, config, d.Config.String())

	plan := func(want Planned) {
		t.Helper()
		got, err := o.Plan(t.Context(), as)
		if diff := cmp.Diff([]Planned{want}, got); err != nil || diff != "" {
			t.Errorf("%v %s", err, diff)
		}
	}
	both := []PlannedKey{{"jobParameter", `"by hand"`, `"old"`, FateDisputed}, {"shardingTotalCount", "8", "4", FateOlder}}
	plan(Planned{Job: "j", Action: PlanSame, Keys: both})
	inForce := func(shards int) {
		t.Helper()
		if got, err := o.InForce(t.Context(), as); err != nil || got[0].Shards != shards {
			t.Errorf("in force: %+v, %v; want %d items", got, err, shards)
		}
	}
	inForce(8)
	wantLines(t, "doctor", checkup(t, o, as).Notes, []string{"applies: jobParameter: ", "applies: shardingTotalCount: "})

	// If the memory is lost or cannot be read, the file counts as new.
	both[1].Fate = FateTaken
	for _, lose := range []func() error{func() error { return os.WriteFile(path, []byte("{"), 0o600) }, func() error { return os.Remove(path) }} {
		if err := lose(); err != nil {
			t.Fatal(err)
		}
		plan(Planned{Job: "j", Action: PlanChanges, Keys: both})
		inForce(4)
	}
}

func checkup(t *testing.T, o *Operator, as host.Options) Checkup {
	t.Helper()
	all, err := o.Checkups(t.Context(), as)
	if err != nil || len(all) != 1 {
		t.Fatalf("%d jobs, %v", len(all), err)
	}
	return all[0]
}
