package operator

import (
	"errors"
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wasmjob/wasmjob/host/internal/layout"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/registry"
	"github.com/wasmjob/wasmjob/host/registry/embedded"
	"github.com/wasmjob/wasmjob/host/registry/registrytest"
)

// manyItems is more than a migration copies, or its way back deletes, in one transaction.
const manyItems = 1500

// putMany writes a job of layout 1 with manyItems offsets, and returns its nodes.
func putMany(t *testing.T, o *Operator) map[string]string {
	t.Helper()
	nodes := left1(t)
	for i := range manyItems {
		nodes["offset/"+strconv.Itoa(i)] = strconv.Itoa(i)
	}
	putTree(t, o, "/jobs/job", nodes)
	return dataOf(t, o)
}

// hasState checks that a job of layout 3 has all states that its offsets became.
func hasState(t *testing.T, o *Operator) {
	t.Helper()
	all, lost := dataOf(t, o), 0
	l := layout.New(job.Layout3, "jobs", "job")
	for i := range manyItems {
		if _, path := l.StateOf(i); all[path[len(l.Root())+1:]] == "" {
			lost++
		}
	}
	if all[""] != "recorder.Sequence" || lost > 0 {
		t.Errorf("its class is %q, and %d states are lost", all[""], lost)
	}
}

// turns reports whether a transaction changes the layout.
func turns(ops []registry.Op) bool {
	return slices.ContainsFunc(ops, func(op registry.Op) bool { return op.Path == "/jobs/job/wasm/migration" && op.Kind == registry.Create })
}

// deletes reports whether a transaction deletes what a migration has copied.
func deletes(ops []registry.Op) bool {
	return slices.ContainsFunc(ops, func(op registry.Op) bool {
		return op.Path[:min(len(op.Path), 19)] == "/jobs/job/wasm/item" && op.Kind == registry.Delete
	})
}

// While one operator migrates a job in parts, another deletes some of what it has copied: the layout changes only
// after that is copied again.
func TestMigrationMeetsWayBack(t *testing.T) {
	t.Parallel()
	plain := embedded.MemoryWith(embedded.Options{MaxCommit: mostBytes})
	writer := operate(t, plain)
	putMany(t, writer)
	back, met := operate(t, registrytest.NewFaulty(plain, func(_ int, ops []registry.Op) registrytest.Outcome {
		if deletes(ops) && len(ops) < manyItems {
			return registrytest.EndAfter
		}
		return registrytest.Pass
	})), 0
	reg := registrytest.NewFaulty(plain, func(_ int, ops []registry.Op) registrytest.Outcome {
		if turns(ops) && len(ops) < manyItems {
			if met++; met == 1 {
				if _, err := back.Migrate(t.Context(), "job", Move{Back: true}); !errors.Is(err, registry.ErrEnded) {
					t.Error(err)
				}
			}
		}
		return registrytest.Pass
	})
	o := operate(t, reg)
	if _, err := o.Migrate(t.Context(), "job", Move{To: "3"}); err != nil || met < 2 {
		t.Errorf("%d times, %v", met, err)
	}
	hasState(t, writer)
	if err := errors.Join(o.Close(), writer.Close(), reg.Close()); err != nil {
		t.Error(err)
	}
}

// While one operator deletes in parts what a cut migration has copied, another migrates the job: what that has copied
// is not deleted, and the way back restores the job.
func TestWayBackMeetsMigration(t *testing.T) {
	t.Parallel()
	plain := embedded.MemoryWith(embedded.Options{MaxCommit: mostBytes})
	writer, parts := operate(t, plain), 0
	before := putMany(t, writer)
	cut := operate(t, registrytest.NewFaulty(plain, func(_ int, ops []registry.Op) registrytest.Outcome {
		if turns(ops) && len(ops) < manyItems {
			return registrytest.EndBefore
		}
		return registrytest.Pass
	}))
	if _, err := cut.Migrate(t.Context(), "job", Move{To: "3"}); !errors.Is(err, registry.ErrEnded) {
		t.Fatal(err)
	}
	reg := registrytest.NewFaulty(plain, func(_ int, ops []registry.Op) registrytest.Outcome {
		if deletes(ops) && len(ops) < manyItems { // the whole does not fit
			if parts++; parts == 2 {
				if _, err := writer.Migrate(t.Context(), "job", Move{To: "3"}); err != nil {
					t.Error(err)
				}
				hasState(t, writer)
			}
		}
		return registrytest.Pass
	})
	o := operate(t, reg)
	if _, err := o.Migrate(t.Context(), "job", Move{Back: true}); err != nil || parts < 2 {
		t.Errorf("after %d parts: %v", parts, err)
	}
	if d := cmp.Diff(before, dataOf(t, writer)); d != "" {
		t.Error(d)
	}
	if err := errors.Join(o.Close(), writer.Close(), reg.Close()); err != nil {
		t.Error(err)
	}
}
