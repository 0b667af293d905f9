package embedded_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/wasmjob/wasmjob/host/registry"
	"github.com/wasmjob/wasmjob/host/registry/embedded"
)

func openAt(t testing.TB, dir string, o embedded.Options) *embedded.Registry {
	t.Helper()
	r, err := embedded.Open(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func closed(t testing.TB, r *embedded.Registry) {
	t.Helper()
	if err := r.Close(); err != nil {
		t.Error(err)
	}
}

func join(t testing.TB, r *embedded.Registry, on func(registry.Event)) registry.Session {
	t.Helper()
	s, err := r.Open(context.Background(), on)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func commit(t testing.TB, s registry.Session, ops ...registry.Op) registry.Receipt {
	t.Helper()
	receipt, err := s.Commit(context.Background(), ops...)
	if err != nil {
		t.Fatal(err)
	}
	return receipt
}

func read(t testing.TB, s registry.Session, path string) registry.Node {
	t.Helper()
	n, err := s.Read(context.Background(), path)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func follow(t testing.TB, s registry.Session, root string) {
	t.Helper()
	if err := s.Follow(context.Background(), root); err != nil {
		t.Fatal(err)
	}
}

func create(path string) registry.Op { return registry.Op{Kind: registry.Create, Path: path} }

func set(path, data string) registry.Op {
	return registry.Op{Kind: registry.Set, Path: path, Data: []byte(data), Version: registry.AnyVersion}
}

func TestOpen_keeps_what_is_persistent(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "new", "registry")
	r := openAt(t, dir, embedded.Options{})
	s := join(t, r, nil)
	commit(t, s, create("/a"), create("/a/b"), registry.Op{Kind: registry.CreateEphemeral, Path: "/a/e"})
	commit(t, s, set("/a", "x"))
	before := read(t, s, "/a")
	closed(t, r)

	r = openAt(t, dir, embedded.Options{})
	defer closed(t, r)
	s = join(t, r, nil)
	after := read(t, s, "/a")
	if string(after.Data) != "x" || !slices.Equal(after.Children, []string{"b"}) ||
		after.Stat.Modified != before.Stat.Modified || !after.Stat.ModifiedAt.Equal(before.Stat.ModifiedAt) ||
		after.Stat.Version != 1 || after.Stat.ChildVersion <= before.Stat.ChildVersion {
		t.Errorf("was %+v, is %+v", before, after)
	}
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("directory is %v, %v", info.Mode(), err)
	}
}

func TestOpen_refuses_a_directory_in_use(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	r := openAt(t, dir, embedded.Options{})
	_, err := embedded.Open(dir, embedded.Options{})
	if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("%s: in use by process %d", dir, os.Getpid())) {
		t.Errorf("error %v", err)
	}
	closed(t, r)
	closed(t, openAt(t, dir, embedded.Options{}))
}

func TestOpen_after_a_refusal_is_free_again(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	closed(t, openAt(t, dir, embedded.Options{}))
	name := filepath.Join(dir, "snapshot-0000000001")
	good, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, good[:len(good)-1], 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = embedded.Open(dir, embedded.Options{})
	var damage *embedded.DamageError
	if !errors.As(err, &damage) || damage.File != name {
		t.Errorf("error %v", err)
	}
	if err := os.WriteFile(name, good, 0o600); err != nil {
		t.Fatal(err)
	}
	closed(t, openAt(t, dir, embedded.Options{}))
}

func TestOptions_bound_commits_and_name_the_timeout(t *testing.T) {
	t.Parallel()
	r := openAt(t, t.TempDir(), embedded.Options{MaxCommit: 200})
	defer closed(t, r)
	s := join(t, r, nil)
	commit(t, s, create("/a"))
	if _, err := s.Commit(t.Context(), set("/a", strings.Repeat("x", 200-48-2+1))); !errors.Is(err, registry.ErrTooLarge) {
		t.Errorf("one byte too many: %v", err)
	}
	commit(t, s, set("/a", strings.Repeat("x", 200-48-2)))
}

func TestClosed_registry_opens_nothing(t *testing.T) {
	t.Parallel()
	r := embedded.Memory()
	closed(t, r)
	closed(t, r)
	if _, err := r.Open(t.Context(), nil); !errors.Is(err, embedded.ErrClosed) {
		t.Errorf("error %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	open := embedded.Memory()
	defer closed(t, open)
	if _, err := open.Open(ctx, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

// A callback that hangs blocks only its own session, and after it returns the events come in
// their order.
func TestCallback_that_hangs_blocks_nobody_else(t *testing.T) {
	t.Parallel()
	r := embedded.Memory()
	entered, leave := make(chan struct{}, 10), make(chan struct{})
	var got []string
	slow := join(t, r, func(e registry.Event) {
		entered <- struct{}{}
		<-leave
		got = append(got, e.Path)
	})
	s := join(t, r, nil)
	for _, path := range []string{"/a", "/b", "/c"} {
		follow(t, slow, path)
	}
	commit(t, s, create("/b"))
	<-entered
	commit(t, s, create("/c"))
	commit(t, s, create("/a"))
	if !read(t, s, "/a").Exists {
		t.Error("a commit is not seen")
	}
	if err := slow.Close(); err != nil {
		t.Error(err)
	}
	close(leave)
	closed(t, r)
	if want := []string{"/b", "/c", "/a", ""}; !slices.Equal(got, want) {
		t.Errorf("events %q", got)
	}
}

func TestCallback_may_close_its_session(t *testing.T) {
	t.Parallel()
	r := embedded.Memory()
	sessions, ended := make(chan registry.Session, 1), make(chan struct{})
	s := join(t, r, func(e registry.Event) {
		switch e.Kind {
		case registry.Changed:
			if err := (<-sessions).Close(); err != nil {
				t.Error(err)
			}
		case registry.Ended:
			close(ended)
		}
	})
	sessions <- s
	follow(t, s, "/a")
	commit(t, join(t, r, nil), create("/a"))
	<-ended
	closed(t, r)
}

// A session that ends receives no event but its end.
func TestEnd_sends_only_the_end(t *testing.T) {
	t.Parallel()
	r := embedded.Memory()
	var got []registry.Event
	s := join(t, r, func(e registry.Event) { got = append(got, e) })
	commit(t, s, registry.Op{Kind: registry.CreateEphemeral, Path: "/e"})
	follow(t, s, "/")
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	closed(t, r)
	if !slices.Equal(got, []registry.Event{{Kind: registry.Ended}}) {
		t.Errorf("events %v", got)
	}
}

// Everything at once, with snapshots in between, for the race detector. Everything acknowledged
// is there after a restart.
func TestHammer(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	relaxed := func(ops []registry.Op) bool { return len(ops)%2 == 0 }
	r := openAt(t, dir, embedded.Options{Relaxed: relaxed, SnapshotBytes: 20_000})
	root := join(t, r, nil)
	const workers, rounds = 8, 100
	for w := range workers {
		commit(t, root, create(fmt.Sprintf("/%d", w)))
	}
	var group sync.WaitGroup
	acknowledged := make([]int64, workers)
	for w := range workers {
		group.Go(func() {
			acknowledged[w] = hammer(t, r, w, workers, rounds)
		})
	}
	group.Wait()
	closed(t, r)
	r = openAt(t, dir, embedded.Options{})
	defer closed(t, r)
	s := join(t, r, nil)
	for w := range workers {
		n := read(t, s, fmt.Sprintf("/%d", w))
		if n.Stat.Modified < acknowledged[w] || len(n.Children) > 0 {
			t.Errorf("worker %d: set at %d, acknowledged %d, children %v", w, n.Stat.Modified, acknowledged[w], n.Children)
		}
	}
}

// hammer sets the node of worker w, reads those of other workers, and changes its session now
// and then. It returns the last revision acknowledged.
func hammer(t *testing.T, r *embedded.Registry, w, workers, rounds int) int64 {
	rng := rand.New(rand.NewPCG(uint64(w), 9))
	ctx := context.Background()
	on := func(registry.Event) {}
	s, err := r.Open(ctx, on)
	var last int64
	for i := 0; i < rounds && err == nil; i++ {
		other := fmt.Sprintf("/%d", rng.IntN(workers))
		switch rng.IntN(8) {
		case 0:
			err = s.Close()
			if err == nil {
				s, err = r.Open(ctx, on)
			}
		case 1:
			_, err = s.Commit(ctx, registry.Op{Kind: registry.CreateEphemeralSequential, Path: other + "/e-"})
		case 2:
			_, err = s.Time(ctx)
		case 3:
			err = errors.Join(s.Sync(ctx), r.Healthy())
		case 4:
			_, err = s.Commit(ctx, registry.Op{Kind: registry.Check, Path: other, Version: 0})
			if errors.Is(err, registry.ErrConflict) {
				err = nil
			}
		case 5:
			_, err = s.Read(ctx, other)
		default:
			own := fmt.Sprintf("/%d", w)
			var receipt registry.Receipt
			receipt, err = s.Commit(ctx, append([]registry.Op{set(own, strings.Repeat("x", i))},
				slices.Repeat([]registry.Op{{Kind: registry.Check, Path: own, Version: registry.AnyVersion}}, i%3)...)...)
			last = receipt.Revision
		}
	}
	if err != nil {
		t.Errorf("worker %d: %v", w, err)
	}
	return last
}
