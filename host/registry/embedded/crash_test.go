package embedded

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/wasmjob/wasmjob/host/registry"
	"github.com/wasmjob/wasmjob/host/registry/tree"
)

var quiet = slog.New(slog.DiscardHandler)

// committed is one commit of a recorded run.
type committed struct {
	owner    registry.SessionID
	revision int64
	ops      []registry.Op
}

// recording is a run of concurrent writers on a memDisk, with snapshots in between. All its
// commits were acknowledged.
type recording struct {
	steps   []step
	commits []committed // by revision
}

const crashWriters, crashCommits = 6, 60

func recordWriters(t *testing.T) recording {
	t.Helper()
	d := newMemDisk()
	r, err := open(d, Options{Relaxed: func(ops []registry.Op) bool {
		return strings.HasPrefix(ops[0].Path, "/relaxed")
	}})
	if err != nil {
		t.Fatal(err)
	}
	var (
		mu   sync.Mutex // guards all fields
		all  []committed
		work sync.WaitGroup
	)
	for w := range crashWriters {
		s, err := r.Open(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		work.Go(func() {
			for i := range crashCommits {
				if w == 0 && i%15 == 10 {
					if err := r.journal.snapshot(); err != nil {
						t.Error(err)
					}
				}
				ops := crashOps(w, i)
				receipt, err := s.Commit(context.Background(), ops...)
				if err != nil {
					t.Errorf("writer %d commit %d: %v", w, i, err)
					return
				}
				d.ack(receipt.Revision, !strings.HasPrefix(ops[0].Path, "/relaxed") && ops[0].Kind != registry.CreateEphemeral)
				mu.Lock()
				all = append(all, committed{s.ID(), receipt.Revision, ops})
				mu.Unlock()
			}
		})
	}
	work.Wait()
	steps := d.done()
	if n := d.count(stepRename); n < 5 {
		t.Errorf("only %d snapshots were written", n)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(all, func(a, b committed) int { return int(a.revision - b.revision) })
	return recording{steps, all}
}

// crashOps returns the ops of commit i of writer w.
func crashOps(w, i int) []registry.Op {
	data := []byte(strings.Repeat(fmt.Sprintf("%d.%d ", w, i), 1+i%7))
	durable, relaxed := fmt.Sprintf("/waited-%d", w), fmt.Sprintf("/relaxed-%d", w)
	switch {
	case i == 0:
		return []registry.Op{{Kind: registry.Create, Path: durable, Data: data}, {Kind: registry.Create, Path: relaxed, Data: data}}
	case i%7 == 3:
		return []registry.Op{{Kind: registry.CreateEphemeral, Path: fmt.Sprintf("%s/e%d", durable, i), Data: data}}
	case i%7 == 5:
		return []registry.Op{{Kind: registry.CreateSequential, Path: durable + "/n-", Data: data}}
	case i%7 == 6:
		return []registry.Op{
			{Kind: registry.Delete, Path: fmt.Sprintf("%s/e%d", durable, i-3), Version: 0},
			{Kind: registry.Set, Path: durable, Data: data, Version: registry.AnyVersion},
		}
	case i%2 == 0:
		return []registry.Op{
			{Kind: registry.Set, Path: relaxed, Data: data, Version: registry.AnyVersion},
			{Kind: registry.Check, Path: durable, Version: registry.AnyVersion},
		}
	}
	return []registry.Op{
		{Kind: registry.Set, Path: durable, Data: data, Version: registry.AnyVersion},
		{Kind: registry.Set, Path: relaxed, Data: data, Version: registry.AnyVersion},
	}
}

// dump returns a tree as text, for comparison.
func dump(t *tree.Tree) string {
	var b bytes.Buffer
	t.Walk("/", func(path string, n registry.Node) bool {
		s := n.Stat
		fmt.Fprintf(&b, "%s %q %v %d %d %d %d %d %d\n", path, n.Data, n.Children,
			s.Created, s.Modified, s.ChildrenChanged, s.Version, s.ChildVersion, s.Owner)
		return true
	})
	return b.String()
}

// checkRecovered checks that found is the tree after a prefix of the commits, which has at
// least those up to revision acked, with all sessions ended.
func (rec *recording) checkRecovered(found recovered, acked int64) error {
	want := tree.New()
	if found.tree.Revision() == 0 && acked == 0 {
		return nil // before the end of the first opening
	}
	want.Advance(1 << epochShift)
	for i := 0; ; i++ {
		if want.Revision() >= acked && want.Revision()+int64(len(want.Owners())) == found.tree.Revision() {
			ended, err := tree.Decode(want.Encode(nil))
			if err != nil {
				return err
			}
			for _, owner := range ended.Owners() {
				ended.EndSession(owner, 0)
			}
			if dump(ended) == dump(found.tree) {
				return nil
			}
		}
		if i == len(rec.commits) {
			return fmt.Errorf("tree at %d is not the one after any commit from %d on", found.tree.Revision(), acked)
		}
		c := rec.commits[i]
		if _, _, err := want.Commit(c.owner, 0, c.ops); err != nil || want.Revision() != c.revision {
			return fmt.Errorf("history does not repeat at %d: %w", c.revision, err)
		}
	}
}

// cuts calls f with the disk at some hundred different bytes and steps, and with the last
// revisions acknowledged by then: of all commits, and of those that were waited for.
func (rec *recording) cuts(f func(at string, m *image, acked, waited int64)) int {
	m := newImage()
	var acked, waited int64
	n := 0
	for i, s := range rec.steps {
		at := fmt.Sprintf("step %d, %s %s", i, s.kind, s.name)
		switch s.kind {
		case stepAck:
			// Commits are acknowledged out of order, but the log has all commits before an
			// acknowledged one.
			acked = max(acked, s.ack)
			if s.waited {
				waited = max(waited, s.ack)
			}
			continue
		case stepWrite:
			half := m.clone()
			for _, cut := range []int{1, len(s.data) / 2, len(s.data) - 1} {
				n++
				part := half.clone()
				part.apply(s, cut)
				f(fmt.Sprintf("%s, %d of %d bytes", at, cut, len(s.data)), &part, acked, waited)
			}
		}
		m.apply(s, len(s.data))
		n++
		f(at, &m, acked, waited)
	}
	return n
}

func (m *image) clone() image {
	c := newImage()
	same := map[*memFile]*memFile{}
	for name, f := range m.files {
		same[f] = &memFile{slices.Clone(f.data), f.synced, f.lost}
		c.files[name] = same[f]
	}
	for name, f := range m.durable {
		if same[f] == nil {
			same[f] = &memFile{slices.Clone(f.data), f.synced, f.lost}
		}
		c.durable[name] = same[f]
	}
	return c
}

func TestKilledAtAnyByte_keeps_all_that_was_acknowledged(t *testing.T) {
	t.Parallel()
	rec := recordWriters(t)
	n := rec.cuts(func(at string, m *image, acked, _ int64) {
		d := m.afterKill()
		found, err := recoverTree(d, quiet)
		if err == nil {
			err = rec.checkRecovered(found, acked)
		}
		if err != nil {
			t.Errorf("%s: %v", at, err)
		}
	})
	t.Logf("%d cuts, %d commits", n, len(rec.commits))
	if n < 500 {
		t.Errorf("only %d cuts", n)
	}
}

func TestPowerLossAtAnyByte_keeps_all_that_was_waited_for(t *testing.T) {
	t.Parallel()
	rec := recordWriters(t)
	rng := rand.New(rand.NewPCG(1, 2))
	n := rec.cuts(func(at string, m *image, _, waited int64) {
		d := m.afterPowerLoss(rng)
		found, err := recoverTree(d, quiet)
		if err == nil {
			err = rec.checkRecovered(found, waited)
		}
		if err != nil {
			t.Errorf("%s: %v", at, err)
		}
	})
	t.Logf("%d cuts, %d commits", n, len(rec.commits))
}

// Commits between any two steps of a snapshot are as durable as all others. Each commit is
// number n in /n, so its presence proves those before it.
func TestSnapshot_loses_no_concurrent_commit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, snapshotDuringCommits) // no sync because of syncWithin
}

func snapshotDuringCommits(t *testing.T) {
	d := newMemDisk()
	relaxed := func(ops []registry.Op) bool { return ops[len(ops)-1].Path == "/relaxed" }
	r, err := open(d, Options{Relaxed: relaxed})
	if err != nil {
		t.Fatal(err)
	}
	s := openSession(t, r)
	mustCommit(t, s, registry.Op{Kind: registry.Create, Path: "/n"}, registry.Op{Kind: registry.Create, Path: "/relaxed"})
	rng := rand.New(rand.NewPCG(5, 6))
	var n, waited, steps int
	commit := func(path string) {
		n++
		mustCommit(t, s, registry.Op{Kind: registry.Set, Path: "/n", Data: fmt.Append(nil, n), Version: registry.AnyVersion},
			registry.Op{Kind: registry.Check, Path: path, Version: 0})
	}
	survives := func(at string) {
		d.mu.Lock()
		defer d.mu.Unlock()
		for range 20 {
			found, err := recoverTree(d.now.afterPowerLoss(rng), quiet)
			if err != nil {
				t.Fatalf("%s: %v", at, err)
			}
			var got int
			if _, err := fmt.Sscan(string(found.tree.Get("/n").Data), &got); err != nil || got < waited {
				t.Fatalf("%s: %d commits, waited for %d", at, got, waited)
			}
		}
	}
	var busy atomic.Bool // ignore the steps of the commits below
	firstSync := true
	commit("/relaxed")
	d.inject(func(st step) (int, error) {
		record := st.kind == stepWrite && strings.HasPrefix(st.name, "log-") && !strings.HasPrefix(string(st.data), logMagic)
		// Records and notes are written with the registry locked, so no commit can come.
		if record || st.kind == stepSync && st.name == logName(2) || !busy.CompareAndSwap(false, true) {
			return len(st.data), nil
		}
		steps++
		if st.kind == stepSync && st.name == logName(1) {
			// No other sync can run now; and nothing at all in the second sync.
			if firstSync {
				commit("/relaxed")
			}
			firstSync = false
		} else {
			commit("/n0")
			waited = n
			survives(fmt.Sprintf("%s %s", st.kind, st.name))
			commit("/relaxed") // so that there is something to sync when the log is switched
		}
		busy.Store(false)
		return len(st.data), nil
	})
	busy.Store(true)
	mustCommit(t, s, registry.Op{Kind: registry.Create, Path: "/n0"})
	commit("/relaxed")
	busy.Store(false)
	if err := r.journal.snapshot(); err != nil {
		t.Fatal(err)
	}
	d.inject(nil)
	survives("end")
	if steps < 9 {
		t.Errorf("only %d steps", steps)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
}

// A crash during a start changes nothing of what the start found.
func TestKilledDuringRecovery_loses_nothing(t *testing.T) {
	t.Parallel()
	d := newMemDisk()
	r, err := open(d, Options{})
	if err != nil {
		t.Fatal(err)
	}
	s := openSession(t, r)
	mustCommit(t, s, registry.Op{Kind: registry.Create, Path: "/a", Data: []byte("x")})
	before := d.copy()
	before.replace(logName(1), append(d.contents(logName(1)), "half a record"...))
	start := before.copy()
	again, err := open(start, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := again.Close(); err != nil {
		t.Fatal(err)
	}
	m := before.now
	for i, st := range start.steps {
		for cut := 0; cut <= len(st.data); cut += max(1, len(st.data)/4) {
			part := m.clone()
			part.apply(st, cut)
			found, err := recoverTree(part.afterKill(), quiet)
			if err != nil || string(found.tree.Get("/a").Data) != "x" {
				t.Errorf("step %d %s %s: %v", i, st.kind, st.name, err)
			}
		}
		m.apply(st, len(st.data))
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
}

func openSession(t testing.TB, r *Registry) registry.Session {
	t.Helper()
	s, err := r.Open(context.Background(), nil)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func mustCommit(t testing.TB, s registry.Session, ops ...registry.Op) registry.Receipt {
	t.Helper()
	receipt, err := s.Commit(context.Background(), ops...)
	if err != nil {
		t.Fatal(err)
	}
	return receipt
}
