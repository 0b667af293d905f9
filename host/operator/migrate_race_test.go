package operator

import (
	"context"
	"errors"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
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
		if _, state := l.StateOf(i); all[strings.TrimPrefix(state, l.Root()+"/")] == "" {
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
	above, _ := layout.New(job.Layout3, "jobs", "job").StateOf(0)
	items := path.Dir(above[len(above)-1])
	return slices.ContainsFunc(ops, func(op registry.Op) bool { return strings.HasPrefix(op.Path, items) && op.Kind == registry.Delete })
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

// between is a session that calls once before it reads a node.
type between struct {
	registry.Session

	path string
	once sync.Once
	call func()
}

// Read implements registry.Session.
func (s *between) Read(ctx context.Context, at string) (registry.Node, error) {
	if at == s.path {
		s.once.Do(s.call)
	}
	return s.Session.Read(ctx, at)
}

// A job that another operator migrates while it is read does not seem to be half of each of two layouts.
func TestMigrationReadsHalfOfAnother(t *testing.T) {
	t.Parallel()
	for _, step := range []Move{{To: "2.1"}, {Back: true}} {
		plain := embedded.Memory()
		writer, o := operate(t, plain), operate(t, plain)
		putTree(t, writer, "/jobs/job", left1(t))
		server := layout.New(job.Layout1, "jobs", "job").At("servers") + "/10.0.0.1"
		o.session = &between{Session: o.session, path: server, call: func() {
			if _, err := writer.Migrate(t.Context(), "job", Move{To: "3"}); err != nil {
				t.Error(err)
			}
		}}
		_, err := o.Migrate(t.Context(), "job", step)
		if step.Back && err != nil || !step.Back && (err == nil || !strings.Contains(err.Error(), "it is of layout 3, and a job is moved to a later layout only")) {
			t.Errorf("%+v: %v", step, err)
		}
		if err := errors.Join(o.Close(), writer.Close(), plain.Close()); err != nil {
			t.Error(err)
		}
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

// A migration in parts copies nothing more into a job that is removed meanwhile, and a cut removal is finished later.
func TestMigrationMeetsRemoval(t *testing.T) {
	t.Parallel()
	plain := embedded.MemoryWith(embedded.Options{MaxCommit: mostBytes})
	writer, commits := operate(t, plain), 0
	putMany(t, writer)
	l := layout.New(job.Layout1, "jobs", "job")
	for i := range 2 * manyItems { // or it would be removed in one transaction
		put(t, writer, registry.Create, l.At("leader")+"/"+strconv.Itoa(i), "")
	}
	_, mark := l.Removal()
	remover := operate(t, registrytest.NewFaulty(plain, func(_ int, ops []registry.Op) registrytest.Outcome {
		if slices.ContainsFunc(ops, func(op registry.Op) bool { return op.Path == mark && op.Kind == registry.Create }) {
			return registrytest.EndAfter
		}
		return registrytest.Pass
	}))
	var rest map[string]string
	reg := registrytest.NewFaulty(plain, func(_ int, ops []registry.Op) registrytest.Outcome {
		if isPart(ops) && len(ops) < manyItems {
			if commits++; commits == 2 {
				if err := remover.Remove(t.Context(), "job", true); !errors.Is(err, registry.ErrEnded) {
					t.Error(err)
				}
				rest = dataOf(t, writer)
			}
		}
		return registrytest.Pass
	})
	o := operate(t, reg)
	if _, err := o.Migrate(t.Context(), "job", Move{To: "3"}); err == nil || !strings.Contains(err.Error(), "only the rest of an unfinished removal is there") {
		t.Error(err)
	}
	if d := cmp.Diff(rest, dataOf(t, writer)); d != "" || len(rest) == 0 {
		t.Errorf("of %d nodes: %s", len(rest), d)
	}
	if err := writer.Remove(t.Context(), "job", false); err != nil || len(dataOf(t, writer)) > 1 {
		t.Error(err)
	}
	if err := errors.Join(o.Close(), writer.Close(), reg.Close()); err != nil {
		t.Error(err)
	}
}
