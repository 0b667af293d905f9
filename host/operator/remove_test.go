package operator

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/internal/layout"
	"github.com/wasmjob/wasmjob/host/internal/layout/v21"
	"github.com/wasmjob/wasmjob/host/internal/removal"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/registry"
	"github.com/wasmjob/wasmjob/host/registry/embedded"
	"github.com/wasmjob/wasmjob/host/trace"
)

// A job that is in no running server's file stops when it is removed from the registry.
func TestRemove(t *testing.T) {
	t.Parallel()
	reg := embedded.Memory()
	a := server(t, reg, "10.0.0.1")
	a.Modules = kit("ok")
	a.Jobs = []job.Config{{Name: "j", Module: "ok", Shards: 2}}
	first, stopFirst := start(t, a)
	<-first.Ready()
	second, stopSecond := start(t, server(t, reg, "10.0.0.2"))
	until(t, second, "both have joined", joined("j", 2))
	if err := stopFirst(); err != nil {
		t.Fatal(err)
	}
	o, err := Open(t.Context(), reg, "n")
	if err != nil {
		t.Fatal(err)
	}
	if err := o.Remove(t.Context(), "j", true); err != nil {
		t.Error(err)
	}
	until(t, second, "the job is gone", none)
	_, err = o.Job(t.Context(), "j")
	wantCode(t, "afterwards", err, host.NotFound)
	wantCode(t, "twice", o.Remove(t.Context(), "j", true), host.NotFound)
	if err := errors.Join(o.Close(), stopSecond(), reg.Close()); err != nil {
		t.Error(err)
	}
}

func TestRemoveIsRefusedWhileItRuns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reg, begun := embedded.Memory(), make(chan struct{})
		h, stop := start(t, host.Options{
			Registry: reg, Namespace: "jobs", NoDrain: true, Jobs: []job.Config{{Name: "j", Shards: 1}},
			Runner: host.Func(func(ctx context.Context, _ job.Call) job.Outcome {
				close(begun)
				<-ctx.Done()
				return job.Outcome{Verdict: job.Stopped}
			}),
		})
		<-h.Ready()
		if err := h.Trigger(t.Context(), "j"); err != nil {
			t.Fatal(err)
		}
		<-begun
		o := operate(t, reg)
		wantCode(t, "it runs", o.Remove(t.Context(), "j", true), host.Refused)
		if err := errors.Join(o.Close(), stop(), reg.Close()); err != nil {
			t.Error(err)
		}
	})
}

// refuser is a history that takes no row.
type refuser struct{}

func (refuser) Write(context.Context, []trace.Row) error {
	return fmt.Errorf("%w: as the test wants it", trace.ErrRow)
}

// A row that the history refuses is reported, and a second removal succeeds.
func TestRemoveReportsARowThatNoHistoryTakes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reg := embedded.Memory()
		h, stop := start(t, host.Options{
			Registry: reg, Namespace: "jobs", Jobs: []job.Config{{Name: "j", Cron: "* * * * * ?", Shards: 1}},
			Runner: host.Func(func(context.Context, job.Call) job.Outcome { return job.Outcome{} }),
		})
		<-h.Ready()
		time.Sleep(2500 * time.Millisecond)
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Second)
		o := operate(t, reg)
		o.Record(refuser{})
		err := o.Remove(t.Context(), "j", true)
		wantCode(t, "a row is refused", err, host.Refused)
		if !errors.Is(err, trace.ErrRow) {
			t.Error(err)
		}
		if err := o.Remove(t.Context(), "j", true); err != nil {
			t.Error(err)
		}
		if err := errors.Join(o.Close(), reg.Close()); err != nil {
			t.Error(err)
		}
	})
}

// A job with too many nodes for one transaction is removed in several. The first one deletes its
// definition.
func TestRemoveInParts(t *testing.T) {
	t.Parallel()
	reg := embedded.MemoryWith(embedded.Options{MaxCommit: 64 << 10})
	o := operate(t, reg)
	putLarge(t, o)
	if err := o.Remove(t.Context(), "j", true); err != nil {
		t.Error(err)
	}
	if n, err := o.session.Read(t.Context(), "/jobs/j"); err != nil || n.Exists {
		t.Errorf("left: %+v, %v", n.Children, err)
	}
	if err := errors.Join(o.Close(), reg.Close()); err != nil {
		t.Error(err)
	}
}

// putLarge creates a job with too many nodes for a transaction of 64 KiB.
func putLarge(t *testing.T, o *Operator) {
	t.Helper()
	l := layout.NewJob("jobs", "j")
	config, _, _ := l.Nodes()
	text, err := v21.EncodeConfig(v21.FromJob(job.Config{Name: "j", Kind: job.Simple, Shards: 1, Strategy: "average"}))
	if err != nil {
		t.Fatal(err)
	}
	if n, err := o.session.Read(t.Context(), "/jobs"); err != nil || !n.Exists {
		put(t, o, registry.Create, "/jobs", "")
	}
	put(t, o, registry.Create, l.Root(), "")
	put(t, o, registry.Create, config, string(text))
	for i := range 3 * removal.AtOnce {
		put(t, o, registry.Create, fmt.Sprintf("%s/a%d", l.Root(), i), "")
	}
}

// What a cut removal has left of a job of layout 1 or 2.0 is deleted by the next one, whichever nodes are left.
func TestRestOfOlderLayouts(t *testing.T) {
	t.Parallel()
	for _, of := range []string{job.Layout1, job.Layout20} {
		o := operate(t, memory(t))
		l := layout.New(of, "jobs", "job")
		above, mark := l.Removal()
		put(t, o, registry.Create, "/jobs", "")
		for _, path := range []string{l.Root(), l.At("servers"), l.At("execution"), above, mark, above + "/assignment"} {
			put(t, o, registry.Create, path, "")
		}
		if err := o.Remove(t.Context(), "job", false); err != nil {
			t.Errorf("layout %s: %v", of, err)
		}
		if n, err := o.Node(t.Context(), l.Root()); err != nil || n.Exists {
			t.Errorf("layout %s: it is still there, %v", of, err)
		}
		if err := o.Close(); err != nil {
			t.Error(err)
		}
	}
}
