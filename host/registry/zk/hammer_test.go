package zk_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/wasmjob/wasmjob/host/registry"
)

// TestCuts writes and follows over a connection that breaks all the time. Each writer creates
// nodes one by one and settles every unknown outcome as the port prescribes, so none is created
// twice and none is missing. A follower that reads only after events sees all of them in the
// end.
func TestCuts(t *testing.T) {
	t.Parallel()
	const writers, each, cuts = 4, 50, 20
	p, m, _ := behind(t, serving(t), long)
	m.commit(create("/cuts"))
	var work sync.WaitGroup
	for w := range writers {
		work.Go(func() {
			for i := range each {
				makeOnce(m, fmt.Sprintf("/cuts/%d-%d", w, i))
			}
		})
	}
	work.Go(func() { watchAll(m, writers*each) })
	done := make(chan struct{})
	var cutter sync.WaitGroup
	cutter.Go(func() {
		every := time.NewTicker(20 * time.Millisecond)
		defer every.Stop()
		for range cuts {
			select {
			case <-every.C:
				p.Cut()
			case <-done:
				return
			}
		}
	})
	work.Wait()
	close(done)
	cutter.Wait()
	for m.Sync(m.ctx) != nil && m.ctx.Err() == nil { // the last cut may just have happened
	}
	if n := m.read("/cuts"); len(n.Children) != writers*each || n.Stat.ChildVersion != writers*each {
		t.Errorf("%d children after %d changes", len(n.Children), n.Stat.ChildVersion)
	}
}

// makeOnce creates the node at path. It is a fault if the node exists before.
func makeOnce(m *member, path string) {
	for {
		_, err := m.Commit(m.ctx, create(path))
		switch {
		case err == nil:
			return
		case errors.Is(err, registry.ErrConflict):
			m.t.Errorf("%s was made by nobody: %v", path, err)
			return
		case m.ctx.Err() != nil || errors.Is(err, registry.ErrEnded):
			m.t.Errorf("make %s: %v", path, err)
			return
		case errors.Is(err, registry.ErrUnknown):
			for m.Sync(m.ctx) != nil && m.ctx.Err() == nil {
			}
			n, err := m.Read(m.ctx, path)
			for ; err != nil && m.ctx.Err() == nil; n, err = m.Read(m.ctx, path) {
			}
			if n.Exists {
				return
			}
		}
	}
}

// watchAll reads the list only after events.
func watchAll(m *member, want int) {
	for m.Follow(m.ctx, "/cuts") != nil && m.ctx.Err() == nil {
	}
	for {
		seen := len(m.received())
		n, err := m.Read(m.ctx, "/cuts")
		if m.ctx.Err() != nil {
			m.t.Errorf("saw %d of %d", len(n.Children), want)
			return
		}
		if err != nil {
			continue
		}
		if len(n.Children) == want {
			return
		}
		m.awaitMore(seen)
	}
}
