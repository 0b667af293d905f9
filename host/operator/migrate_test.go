package operator

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/internal/javatest"
	"github.com/wasmjob/wasmjob/host/internal/layout"
	"github.com/wasmjob/wasmjob/host/internal/layout/migration"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/job/recorded"
	"github.com/wasmjob/wasmjob/host/registry"
	"github.com/wasmjob/wasmjob/host/registry/embedded"
	"github.com/wasmjob/wasmjob/host/registry/registrytest"
	"github.com/wasmjob/wasmjob/host/registry/zk"
	"github.com/wasmjob/wasmjob/host/registry/zk/zktest"
)

// putTree writes a job below a node of its own.
func putTree(t *testing.T, o *Operator, root string, nodes map[string]string) {
	t.Helper()
	put(t, o, registry.Create, "/jobs", "")
	for _, at := range slices.Sorted(maps.Keys(nodes)) {
		put(t, o, registry.Create, strings.TrimSuffix(root+"/"+at, "/"), nodes[at])
	}
}

// left1 are the nodes that members of layout 1 have left, with offsets that do not fit into one transaction.
func left1(t *testing.T) map[string]string {
	t.Helper()
	nodes := recorded.AtRest(t, recorded.Earlier(t, "ej1/sequence.json"), "at the end")
	for i := range 12 {
		nodes["offset/"+strconv.Itoa(i)] = strings.Repeat("x", 20<<10)
	}
	return nodes
}

const mostBytes = 200 << 10 // of a transaction

// isPart reports whether a transaction is a part of a migration, and is not too large.
func isPart(ops []registry.Op) bool {
	size, ofJob := 0, false
	for _, op := range ops {
		size += len(op.Data) + len(op.Path)
		ofJob = ofJob || strings.HasPrefix(op.Path, "/jobs/job/")
	}
	return ofJob && size < mostBytes*3/4
}

// dataOf returns the values of a job's nodes.
func dataOf(t *testing.T, o *Operator) map[string]string {
	t.Helper()
	tree, err := o.wholeTree(t.Context(), "/jobs/job")
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for at, n := range tree {
		all[at] = string(n.Data)
	}
	return all
}

// cutMigration runs a migration, the way back, and the migration again. The transaction with the number cut has the
// outcome as, and the interrupted step is repeated. It reports whether there were that many transactions, and returns the
// job's nodes at the end.
func cutMigration(t *testing.T, plain registry.Registry, cut int, as registrytest.Outcome) (cuts bool, end map[string]string) {
	t.Helper()
	n := 0
	reg := registrytest.NewFaulty(plain, func(_ int, ops []registry.Op) registrytest.Outcome {
		if !isPart(ops) {
			return registrytest.Pass
		}
		if n++; n != cut {
			return registrytest.Pass
		}
		cuts = true
		return as
	})
	setup, err := plain.Open(t.Context(), func(registry.Event) {})
	if err != nil {
		t.Fatal(err)
	}
	writer := &Operator{session: setup}
	putTree(t, writer, "/jobs/job", left1(t))
	before := dataOf(t, writer)
	for _, step := range []Move{{To: "3"}, {Back: true}, {To: "3"}} {
		o := operate(t, reg)
		_, err := o.Migrate(t.Context(), "job", step)
		if err != nil && cuts && errors.Is(err, registry.ErrEnded) {
			o = operate(t, reg)
			_, err = o.Migrate(t.Context(), "job", step)
		}
		if err != nil && (!step.Back || !errors.Is(err, migration.ErrNone)) { // the interrupted way back was complete
			t.Fatalf("cut at %d: %+v: %v", cut, step, err)
		}
		if end = dataOf(t, writer); step.Back {
			if d := cmp.Diff(before, end); d != "" {
				t.Fatalf("cut at %d: after the way back: %s", cut, d)
			}
		}
		if err := o.Close(); err != nil && !errors.Is(err, registry.ErrEnded) {
			t.Error(err)
		}
	}
	if err := errors.Join(setup.Close(), reg.Close()); err != nil {
		t.Error(err)
	}
	return cuts, end
}

// cutEach calls cutMigration for each transaction.
func cutEach(t *testing.T, open func() registry.Registry, outcomes ...registrytest.Outcome) {
	t.Helper()
	_, whole := cutMigration(t, open(), 0, registrytest.Pass)
	_, state := layout.New(job.Layout3, "jobs", "job").StateOf(11)
	if whole[""] != "recorder.Sequence" || !strings.HasPrefix(whole[strings.TrimPrefix(state, "/jobs/job/")], `{"v":1,"values":{"offset":"eHh4`) {
		t.Fatalf("it has no state: %v", slices.Sorted(maps.Keys(whole)))
	}
	for _, as := range outcomes {
		for cut := 1; ; cut++ {
			cuts, end := cutMigration(t, open(), cut, as)
			if d := cmp.Diff(whole, end); d != "" {
				t.Fatalf("cut at %d: %s", cut, d)
			}
			if !cuts {
				if cut < 8 {
					t.Errorf("only %d transactions were cut", cut-1)
				}
				break
			}
		}
	}
}

// A migration that is interrupted before or after any of its transactions is finished by the same command, and so is
// the way back.
func TestMigrationIsFinished(t *testing.T) {
	t.Parallel()
	cutEach(t, func() registry.Registry { return embedded.MemoryWith(embedded.Options{MaxCommit: mostBytes}) },
		registrytest.EndBefore, registrytest.EndAfter, registrytest.LoseReply, registrytest.LoseRequest, registrytest.Delay)
}

func TestMigrationIsFinishedOnZooKeeper(t *testing.T) {
	t.Parallel()
	server, n := zktest.Start(t, zktest.Debian(t), zktest.Options{}), 0
	cutEach(t, func() registry.Registry {
		n++
		reg, err := zk.New(zk.Options{Servers: []string{server.Address()}, Chroot: fmt.Sprintf("/play%d", n), SessionTimeout: 4 * time.Second, MaxRequest: mostBytes})
		if err != nil {
			t.Fatal(err)
		}
		return reg
	}, registrytest.EndAfter)
}

// A job moves only if OnlyIf holds for it, also in a dry run.
func TestMigrationDependsOnTheEdition(t *testing.T) {
	t.Parallel()
	reg := memory(t)
	o := operate(t, reg)
	putTree(t, o, "/jobs/job", left1(t))
	seen, err := o.Job(t.Context(), "job")
	if err != nil {
		t.Fatal(err)
	}
	for _, dry := range []bool{true, false} {
		o.OnlyIf(unless("another"))
		if _, err := o.Migrate(t.Context(), "job", Move{To: "3", DryRun: dry}); !errors.Is(err, errChanged) {
			t.Errorf("dry %v: %v", dry, err)
		}
		o.OnlyIf(unless(seen.Edition))
		if done, err := o.Migrate(t.Context(), "job", Move{To: "3", DryRun: dry}); err != nil || done.From != "1" {
			t.Errorf("dry %v: %+v, %v", dry, done, err)
		}
	}
	if err := o.Close(); err != nil {
		t.Error(err)
	}
}

// A member of layout 1 joins between two parts, runs an item and leaves: the migration moves what it has kept.
func TestMigrationSeesWhoCameMeanwhile(t *testing.T) {
	t.Parallel()
	plain := embedded.MemoryWith(embedded.Options{MaxCommit: mostBytes})
	writer := operate(t, plain)
	putTree(t, writer, "/jobs/job", left1(t))
	parts := 0
	reg := registrytest.NewFaulty(plain, func(_ int, ops []registry.Op) registrytest.Outcome {
		if isPart(ops) {
			if parts++; parts == 3 {
				put(t, writer, registry.Set, "/jobs/job/offset/0", "new")
			}
		}
		return registrytest.Pass
	})
	o := operate(t, reg)
	if _, err := o.Migrate(t.Context(), "job", Move{To: "3"}); err != nil {
		t.Fatal(err)
	}
	_, state := layout.New(job.Layout3, "jobs", "job").StateOf(0)
	if n, err := o.Node(t.Context(), state); err != nil || string(n.Data) != `{"v":1,"values":{"offset":"bmV3"}}` || parts < 4 {
		t.Errorf("%.100s, %v after %d parts", n.Data, err, parts)
	}
	if err := errors.Join(o.Close(), writer.Close(), reg.Close()); err != nil {
		t.Error(err)
	}
}

// A job that cannot be migrated is left as it is, and the error says why.
func TestMigrationsThatAreRefused(t *testing.T) {
	t.Parallel()
	o := operate(t, passing(t))
	_, err := o.Migrate(t.Context(), "job", Move{To: "3"})
	wantCode(t, "no job", err, host.NotFound)
	javatest.Write(t, o.session, javatest.Config(nil)) // with a member
	for want, m := range map[string]Move{
		"it is not at rest: sessions hold instances/" + javatest.Member + ", ": {To: "3"},
		migration.ErrNone.Error(): {Back: true},
	} {
		_, err := o.Migrate(t.Context(), javatest.Name, m)
		if wantCode(t, want, err, host.Refused); !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v", m, err)
		}
	}
	_, err = o.Migrate(t.Context(), javatest.Name, Move{To: "4"})
	if wantCode(t, "no such layout", err, host.Invalid); !strings.Contains(err.Error(), `not to "4"`) {
		t.Error(err)
	}
	if err := o.Close(); err != nil {
		t.Error(err)
	}
}

// OnlyIf does not refuse a migration because of its own earlier parts.
func TestMigrationInPartsDependsOnTheTag(t *testing.T) {
	t.Parallel()
	reg := embedded.MemoryWith(embedded.Options{MaxCommit: mostBytes})
	o := operate(t, reg)
	putTree(t, o, "/jobs/job", left1(t))
	all := func(r *JobReport) string {
		text, err := json.Marshal(r)
		if err != nil {
			t.Error(err)
		}
		return string(text)
	}
	var seen string
	o.OnlyIf(func(r *JobReport) error {
		if seen == "" {
			seen = all(r)
		}
		if d := cmp.Diff(seen, all(r)); d != "" {
			t.Log(d)
			return errChanged
		}
		return nil
	})
	if done, err := o.Migrate(t.Context(), "job", Move{To: "3"}); err != nil || done.From != "1" {
		t.Errorf("%+v, %v", done, err)
	}
	if err := errors.Join(o.Close(), reg.Close()); err != nil {
		t.Error(err)
	}
}
