package embedded

import (
	"context"
	"errors"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wasmjob/wasmjob/host/registry"
)

func write(path string) registry.Op {
	return registry.Op{Kind: registry.Create, Path: path, Data: []byte("data")}
}

// failLog makes one kind of step on logs fail; a failing write still writes a number of bytes.
func failLog(kind stepKind, written int) func(step) (int, error) {
	return func(s step) (int, error) {
		if s.kind == kind && strings.HasPrefix(s.name, "log-") {
			return min(written, len(s.data)), syscall.ENOSPC
		}
		return len(s.data), nil
	}
}

func mustRead(t *testing.T, s registry.Session, path string) registry.Node {
	t.Helper()
	n, err := s.Read(context.Background(), path)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestWriteFault_refuses_the_commit_and_all_after_it(t *testing.T) {
	t.Parallel()
	synctest.Test(t, refusedByWriteFault) // no new attempt comes meanwhile
}

func refusedByWriteFault(t *testing.T) {
	for _, written := range []int{0, 1, 20} {
		d := newMemDisk()
		r, err := open(d, Options{})
		if err != nil {
			t.Fatal(err)
		}
		s, owner := openSession(t, r), openSession(t, r)
		mustCommit(t, s, write("/kept"))
		mustCommit(t, owner, registry.Op{Kind: registry.CreateEphemeral, Path: "/e"})
		revision := r.tree.Revision()
		if err := r.Healthy(); err != nil {
			t.Errorf("healthy: %v", err)
		}
		d.inject(failLog(stepWrite, written))
		_, err = s.Commit(t.Context(), write("/lost"))
		if !errors.Is(err, syscall.ENOSPC) || errors.Is(err, registry.ErrUnknown) || errors.Is(err, registry.ErrConflict) {
			t.Errorf("commit on a full disk: %v", err)
		}
		d.inject(nil) // there is space again, but no new attempt yet
		for range 2 {
			if _, err = s.Commit(t.Context(), write("/later")); !errors.Is(err, registry.ErrReadOnly) || !errors.Is(err, syscall.ENOSPC) {
				t.Errorf("next commit: %v", err)
			}
		}
		if err := r.Healthy(); !errors.Is(err, registry.ErrReadOnly) {
			t.Errorf("healthy: %v", err)
		}
		if err := s.Sync(t.Context()); !errors.Is(err, registry.ErrReadOnly) {
			t.Errorf("sync: %v", err)
		}
		if !mustRead(t, s, "/kept").Exists || mustRead(t, s, "/lost").Exists || r.tree.Revision() != revision {
			t.Error("the tree is not as before the commit")
		}
		if err := owner.Close(); err != nil || mustRead(t, s, "/e").Exists {
			t.Errorf("end of a session: %v", err)
		}
		if err := r.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
		again, err := open(d, Options{})
		if err != nil {
			t.Fatal(err)
		}
		s = openSession(t, again)
		if !mustRead(t, s, "/kept").Exists || mustRead(t, s, "/lost").Exists {
			t.Error("after the restart the tree is not as before the commit")
		}
		mustCommit(t, s, write("/later"))
		if err := again.Close(); err != nil {
			t.Error(err)
		}
	}
}

// A record that is complete but reported as failed, and cannot be cut, is accepted by the next
// start. So the caller must get ErrUnknown.
func TestWriteFault_that_may_have_succeeded_is_unknown(t *testing.T) {
	t.Parallel()
	d := newMemDisk()
	r, err := open(d, Options{})
	if err != nil {
		t.Fatal(err)
	}
	s := openSession(t, r)
	d.inject(func(st step) (int, error) {
		if st.kind == stepWrite || st.kind == stepTruncate {
			return len(st.data), syscall.EIO
		}
		return len(st.data), nil
	})
	if _, err := s.Commit(t.Context(), write("/a")); !errors.Is(err, registry.ErrUnknown) {
		t.Errorf("commit: %v", err)
	}
	if mustRead(t, s, "/a").Exists {
		t.Error("a commit that was not acknowledged is seen")
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
}

func TestSyncFault_acknowledges_nothing_more(t *testing.T) {
	t.Parallel()
	synctest.Test(t, refusedBySyncFault) // no new attempt comes meanwhile
}

func refusedBySyncFault(t *testing.T) {
	d := newMemDisk()
	r, err := open(d, Options{})
	if err != nil {
		t.Fatal(err)
	}
	s := openSession(t, r)
	mustCommit(t, s, write("/kept"))
	failing := true
	d.inject(func(st step) (int, error) {
		if st.kind == stepSync && failing {
			failing = false // the kernel reports it once
			return 0, syscall.EIO
		}
		return len(st.data), nil
	})
	if _, err := s.Commit(t.Context(), write("/a")); !errors.Is(err, registry.ErrUnknown) || !errors.Is(err, syscall.EIO) {
		t.Errorf("commit: %v", err)
	}
	if _, err := s.Commit(t.Context(), write("/b")); !errors.Is(err, registry.ErrReadOnly) {
		t.Errorf("next commit: %v", err)
	}
	if err := s.Sync(t.Context()); !errors.Is(err, registry.ErrReadOnly) {
		t.Errorf("an unknown outcome was settled: %v", err)
	}
	if !mustRead(t, s, "/kept").Exists {
		t.Error("reads do not go on")
	}
	if err := r.Close(); !errors.Is(err, syscall.EIO) {
		t.Errorf("close: %v", err)
	}
}

// Commits that were appended while a sync was failing fail with it, although the next sync
// would report success.
func TestSyncFault_reaches_those_who_came_during_it(t *testing.T) {
	t.Parallel()
	d := newMemDisk()
	r, err := open(d, Options{})
	if err != nil {
		t.Fatal(err)
	}
	s := openSession(t, r)
	entered, leave := make(chan struct{}), make(chan struct{})
	first := true
	d.inject(func(st step) (int, error) {
		if st.kind == stepSync && first {
			first = false
			close(entered)
			<-leave
			return 0, syscall.EIO
		}
		return len(st.data), nil
	})
	errs := make(chan error, 2)
	commit := func(path string) {
		_, err := s.Commit(context.Background(), write(path))
		errs <- err
	}
	go commit("/a")
	<-entered
	ctx, cancel := context.WithCancel(t.Context())
	cancelled := make(chan error)
	go commit("/b")
	go func() {
		_, err := s.Commit(ctx, write("/c"))
		cancelled <- err
	}()
	for !mustRead(t, s, "/b").Exists || !mustRead(t, s, "/c").Exists {
		continue // appended: visible, not yet acknowledged
	}
	cancel()
	if err := <-cancelled; !errors.Is(err, registry.ErrUnknown) || !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled while waiting: %v", err)
	}
	close(leave)
	for range 2 {
		if err := <-errs; !errors.Is(err, registry.ErrUnknown) {
			t.Errorf("commit: %v", err)
		}
	}
	if n := d.count(stepSync); n != 2 { // of the header and of the snapshot
		t.Errorf("%d syncs went through", n)
	}
	if err := r.Close(); err == nil {
		t.Error("close says all is well")
	}
}

func TestSnapshotFault_costs_no_commit(t *testing.T) {
	t.Parallel()
	faults := map[string]func(s step) bool{
		"create log":      func(s step) bool { return s.kind == stepCreate && strings.HasPrefix(s.name, "log-") },
		"write header":    func(s step) bool { return s.kind == stepWrite && s.name == logName(2) },
		"sync directory":  func(s step) bool { return s.kind == stepSyncDir },
		"create snapshot": func(s step) bool { return s.kind == stepCreate && strings.HasPrefix(s.name, "snapshot-") },
		"write snapshot":  func(s step) bool { return s.kind == stepWrite && strings.HasPrefix(s.name, "snapshot-") },
		"sync snapshot":   func(s step) bool { return s.kind == stepSync && strings.HasPrefix(s.name, "snapshot-") },
		"rename":          func(s step) bool { return s.kind == stepRename },
		"remove":          func(s step) bool { return s.kind == stepRemove && strings.HasPrefix(s.name, "log-") },
	}
	for name, hit := range faults {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newMemDisk()
			r, err := open(d, Options{})
			if err != nil {
				t.Fatal(err)
			}
			s := openSession(t, r)
			mustCommit(t, s, write("/a"))
			d.inject(func(s step) (int, error) {
				if hit(s) {
					return len(s.data) / 2, syscall.ENOSPC
				}
				return len(s.data), nil
			})
			if err := r.journal.snapshot(); !errors.Is(err, syscall.ENOSPC) {
				t.Errorf("snapshot: %v", err)
			}
			d.inject(nil)
			mustCommit(t, s, write("/b"))
			killed := d.copy()
			for _, name := range d.names() {
				if strings.HasSuffix(name, temporary) {
					t.Errorf("%s stays on a full disk", name)
				}
			}
			if err := r.journal.snapshot(); err != nil {
				t.Errorf("next snapshot: %v", err)
			}
			mustCommit(t, s, write("/c"))
			if err := r.Close(); err != nil {
				t.Error(err)
			}
			for _, disk := range []*memDisk{killed, d} {
				found, err := recoverTree(disk, quiet)
				if err != nil || !found.tree.Get("/a").Exists || !found.tree.Get("/b").Exists || found.tree.Get("/c").Exists != (disk == d) {
					t.Errorf("recovered: %v", err)
				}
			}
		})
	}
}

func TestSwitchFault_while_a_new_log_begins(t *testing.T) {
	t.Parallel()
	d := newMemDisk()
	r, err := open(d, Options{Relaxed: func([]registry.Op) bool { return true }})
	if err != nil {
		t.Fatal(err)
	}
	s := openSession(t, r)
	mustCommit(t, s, write("/a"))
	d.inject(func(st step) (int, error) {
		if st.kind == stepSync && st.name == logName(1) {
			return 0, syscall.EIO
		}
		return len(st.data), nil
	})
	if err := r.journal.snapshot(); !errors.Is(err, syscall.EIO) {
		t.Errorf("snapshot: %v", err)
	}
	if err := r.Healthy(); !errors.Is(err, registry.ErrReadOnly) {
		t.Errorf("healthy: %v", err)
	}
	if err := r.Close(); err == nil {
		t.Error("close says all is well")
	}
}

func TestSnapshot_is_written_when_the_log_has_grown(t *testing.T) {
	t.Parallel()
	d := newMemDisk()
	r, err := open(d, Options{SnapshotBytes: 500})
	if err != nil {
		t.Fatal(err)
	}
	renamed := make(chan struct{}, 1000)
	d.inject(func(s step) (int, error) {
		if s.kind == stepRename {
			renamed <- struct{}{}
		}
		return len(s.data), nil
	})
	s := openSession(t, r)
	mustCommit(t, s, write("/a"))
	set := registry.Op{Kind: registry.Set, Path: "/a", Data: make([]byte, 100), Version: registry.AnyVersion}
	for range 3 {
		for len(renamed) == 0 {
			mustCommit(t, s, set)
		}
		<-renamed
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if names := d.names(); len(names) > 4 {
		t.Errorf("old files stay: %v", names)
	}
	found, err := recoverTree(d, quiet)
	if err != nil || dump(found.tree) != dump(r.tree) {
		t.Errorf("recovered: %v", err)
	}
}

// Runs in a synctest bubble, so that the time until the sync is known.
func TestRelaxed_does_not_wait_and_is_synced_soon(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newMemDisk()
		r, err := open(d, Options{Relaxed: func(ops []registry.Op) bool { return ops[0].Path == "/relaxed" }})
		if err != nil {
			t.Fatal(err)
		}
		s := openSession(t, r)
		syncs := func() int {
			synctest.Wait()
			return d.count(stepSync)
		}
		atStart := syncs()
		mustCommit(t, s, write("/relaxed"))
		mustCommit(t, s, registry.Op{Kind: registry.CreateEphemeral, Path: "/e"})
		mustCommit(t, s, registry.Op{Kind: registry.Set, Path: "/e", Version: 0}, registry.Op{Kind: registry.Check, Path: "/relaxed", Version: 0})
		if n := syncs() - atStart; n != 0 {
			t.Errorf("%d syncs for commits that do not wait", n)
		}
		<-time.After(syncWithin)
		if n := syncs() - atStart; n != 1 {
			t.Errorf("%d syncs after %v", n, syncWithin)
		}
		<-time.After(time.Hour)
		if n := syncs() - atStart; n != 1 {
			t.Errorf("%d syncs of an idle registry", n)
		}
		mustCommit(t, s, write("/waited"))
		mustCommit(t, s, registry.Op{Kind: registry.CreateSequential, Path: "/relaxed"})
		if n := syncs() - atStart; n != 3 {
			t.Errorf("%d syncs, of them two waited for", n)
		}
		mustCommit(t, s, registry.Op{Kind: registry.Set, Path: "/relaxed", Version: 0})
		if err := s.Sync(t.Context()); err != nil {
			t.Fatal(err)
		}
		if n := syncs() - atStart; n != 4 {
			t.Errorf("%d syncs after Sync", n)
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
	})
}

func TestGroup_one_sync_serves_all_who_wait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newMemDisk()
		r, err := open(d, Options{})
		if err != nil {
			t.Fatal(err)
		}
		atStart := d.count(stepSync)
		d.inject(func(s step) (int, error) {
			if s.kind == stepSync {
				<-time.After(time.Millisecond) // a slow disk, in the bubble's time
			}
			return len(s.data), nil
		})
		s := openSession(t, r)
		done := make(chan error, 100)
		for i := range cap(done) {
			go func() {
				_, err := s.Commit(context.Background(), write("/"+strings.Repeat("x", i+1)))
				done <- err
			}()
		}
		for range cap(done) {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
		if n := d.count(stepSync) - atStart; n > 2 {
			t.Errorf("%d syncs for %d commits at once", n, cap(done))
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
	})
}
