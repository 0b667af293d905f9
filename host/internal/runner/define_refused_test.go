package runner

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wasmjob/wasmjob/host/internal/layout"
	"github.com/wasmjob/wasmjob/host/reason"
	"github.com/wasmjob/wasmjob/host/registry"
	"github.com/wasmjob/wasmjob/host/registry/embedded"
)

// contested is a session on which, a given number of times, somebody else has just
// written the node that it wants to set.
type contested struct {
	registry.Session
	path  string
	times *atomic.Int32
}

func (c contested) Commit(ctx context.Context, ops ...registry.Op) (registry.Receipt, error) {
	sets := func(op registry.Op) bool { return op.Kind == registry.Set && op.Path == c.path }
	if slices.ContainsFunc(ops, sets) && c.times.Add(-1) >= 0 {
		n, err := c.Read(ctx, c.path)
		if err != nil {
			return registry.Receipt{}, err
		}
		if _, err := c.Session.Commit(ctx, registry.Op{Kind: registry.Set, Path: c.path, Data: n.Data, Version: registry.AnyVersion}); err != nil {
			return registry.Receipt{}, err
		}
	}
	return c.Session.Commit(ctx, ops...)
}

// A file that was read again and cannot be merged into the registry is a trouble of the
// job: the registry keeps its definition. The next file clears the trouble.
func TestAFileThatIsNotTakenIsATrouble(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reg, times := embedded.Memory(), new(atomic.Int32)
		config, _, _ := layout.NewJob("test", testJob).Nodes()
		d := &door{Registry: reg, wrap: func(s registry.Session) registry.Session { return contested{s, config, times} }}
		s := serveThrough(t, d, &book{}, "10.0.0.1", nil)
		<-s.Joined()
		synctest.Wait()
		times.Store(1000)
		file := testConfig()
		file.Param = "the file's"
		s.Redefine(&file)
		time.Sleep(time.Minute)
		got := s.Status()
		if got.Config.Param != "p" || len(got.Troubles) != 1 || got.Troubles[0].Code != reason.ConfigDisputed || !strings.Contains(got.Troubles[0].String(), "after 5 tries") {
			t.Errorf("parameter %q, troubles %q", got.Config.Param, got.Troubles)
		}
		if left := times.Load(); left != 1000-defineTries {
			t.Errorf("tried %d times", 1000-left)
		}
		times.Store(0)
		again := file
		s.Redefine(&again)
		time.Sleep(time.Minute)
		if got := s.Status(); got.Config.Param != "the file's" || len(got.Troubles) != 0 {
			t.Errorf("parameter %q, troubles %q", got.Config.Param, got.Troubles)
		}
		s.stop(t)
		must(t, reg.Close())
	})
}

// The trouble clears when another server's file has brought the same definition into the
// registry.
func TestAFileThatAnotherServerBringsIsNoTrouble(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reg, times := embedded.Memory(), new(atomic.Int32)
		config, _, _ := layout.NewJob("test", testJob).Nodes()
		d := &door{Registry: reg, wrap: func(s registry.Session) registry.Session { return contested{s, config, times} }}
		a := serveThrough(t, d, &book{}, "10.0.0.1", nil)
		<-a.Joined()
		synctest.Wait()
		times.Store(1000)
		file := testConfig()
		file.Param = "the file's"
		a.Redefine(&file)
		time.Sleep(time.Minute)
		if got := a.Status().Troubles; len(got) != 1 {
			t.Errorf("troubles %q, want one", got)
		}
		b := serve(t, reg, &book{}, "10.0.0.2", nil)
		<-b.Joined()
		again := file
		b.Redefine(&again)
		time.Sleep(time.Minute)
		if got := a.Status(); got.Config.Param != "the file's" || len(got.Troubles) != 0 {
			t.Errorf("parameter %q, troubles %q", got.Config.Param, got.Troubles)
		}
		b.stop(t)
		a.stop(t)
		must(t, reg.Close())
	})
}
