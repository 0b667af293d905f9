package host

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/reason"
	"github.com/wasmjob/wasmjob/host/registry"
	"github.com/wasmjob/wasmjob/host/registry/embedded"
	"github.com/wasmjob/wasmjob/host/trace"
)

// ailing is a registry whose disk can be made to fail.
type ailing struct {
	registry.Registry
	why error
}

func (a ailing) Healthy() error { return a.why }

func TestHealthy(t *testing.T) {
	t.Parallel()
	h, err := New(Options{Runner: Func(fine)})
	if err != nil {
		t.Fatal(err)
	}
	if err := h.Healthy(); err != nil {
		t.Errorf("before it runs: %v", err)
	}
	synctest.Test(t, func(t *testing.T) {
		for _, why := range []error{nil, registry.ErrReadOnly} {
			reg := ailing{embedded.Memory(), why}
			h, stop := start(t, Options{Registry: reg, Runner: Func(fine), Jobs: []job.Config{{Name: "a", Shards: 1}}})
			<-h.Ready()
			err := h.Healthy()
			if !errors.Is(err, why) {
				t.Errorf("got %v, want %v", err, why)
			}
			if e, ok := errors.AsType[*Error](err); why != nil && (!ok || len(e.Reasons) != 1 || e.Reasons[0].Code != reason.RegistryFailed) {
				t.Errorf("%+v does not give its reason by a code", e)
			}
			// A job shows it even if it has nothing to write.
			troubles := h.Jobs()[0].Troubles
			if want := why != nil; want != slices.Equal(troubles, []reason.Reason{reason.Of(reason.RegistryFailed, "registry: read-only")}) || !want && len(troubles) > 0 {
				t.Errorf("troubles %q", troubles)
			}
			if err := errors.Join(stop(), reg.Close()); err != nil {
				t.Error(err)
			}
		}
	})
}

// The registry inside accepts the reshard of a large job, even in memory.
func TestLargeJobInMemory(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h, stop := start(t, Options{Runner: Func(fine), Jobs: []job.Config{{Name: "a", Shards: 10_000}}})
		<-h.Ready()
		time.Sleep(time.Minute)
		s := h.Jobs()[0]
		if len(s.Troubles) != 0 || len(s.Items) != 10_000 || s.Items[9_999].Owner == "" {
			t.Errorf("%d items, troubles %q", len(s.Items), s.Troubles)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

// choosy is a Sink that never takes some of the rows.
type choosy struct{ pile }

func (c *choosy) Write(ctx context.Context, batch []trace.Row) error {
	for _, r := range batch {
		if r.Item == 1 {
			return fmt.Errorf("%w: item 1", trace.ErrRow)
		}
	}
	return c.pile.Write(ctx, batch)
}

func TestRowThatOneSinkRefuses(t *testing.T) {
	t.Parallel()
	first, second := &choosy{}, &pile{}
	err := sinks{first, second}.Write(t.Context(), []trace.Row{{Job: "a", Item: 1, State: trace.Failed}})
	if !errors.Is(err, trace.ErrRow) || second.count("a", trace.Failed) != 1 {
		t.Errorf("got %v, and %d rows in the other sink", err, second.count("a", trace.Failed))
	}
}
