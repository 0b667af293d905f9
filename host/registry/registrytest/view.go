package registrytest

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strconv"
	"sync"

	"github.com/wasmjob/wasmjob/host/registry"
)

var viewTests = []subtest{
	{"no read shows a change of which an event is still to come", testEventBeforeReply},
	{"many concurrent reads answer as one would", testManyReads},
	{"sync shows what others committed before", testSync},
}

// readers is the number of concurrent readers in tests with several.
const readers = 8

// rounds is how often the writers of these tests write.
const rounds = 1000

// busy runs write again and again in a session of its own while body runs, and waits for the
// last write.
func (f *fixture) busy(write func(m *member, repetition int) []registry.Op, body func(over func() bool)) {
	m := f.join()
	var group sync.WaitGroup
	done := make(chan struct{})
	group.Go(func() {
		defer close(done)
		for i := range rounds {
			if _, err := m.Commit(f.ctx, write(m, i)...); err != nil {
				f.Errorf("round %d: %v", i, err)
				return
			}
		}
	})
	body(func() bool {
		select {
		case <-done:
			return true
		default:
			return false
		}
	})
	group.Wait()
}

// tally adds up the events that a session has received.
type tally struct {
	of   *member
	seen int
	sums map[string][2]int
}

// changes returns how often a node has changed, by the events so far.
func (y *tally) changes(path string) int {
	events := y.of.receivedSince(y.seen)
	y.seen += len(events)
	add(y.sums, events)
	return y.sums[path][0]
}

// testEventBeforeReply reads until it sees a change: by then the event must have been
// delivered, and those of all nodes that changed with it. Otherwise a mirror, which takes
// events and replies as they come, would consider an outdated value current, or show half a
// transaction.
func testEventBeforeReply(f *fixture) {
	a, b := f.path("a"), f.path("b")
	f.follow(f.main, f.root)
	f.main.commit(created(a), created(b))
	f.busy(func(_ *member, i int) []registry.Op {
		// The version of b counts the rounds.
		switch i % 3 {
		case 0:
			return []registry.Op{created(a + "/k"), set(b, "", registry.AnyVersion)}
		case 1:
			return []registry.Op{remove(a + "/k"), set(b, "", registry.AnyVersion)}
		}
		return []registry.Op{set(a, strconv.Itoa(i), registry.AnyVersion), set(b, "", registry.AnyVersion)}
	}, func(over func() bool) {
		var group sync.WaitGroup
		for range readers {
			group.Go(func() {
				y := &tally{of: f.main, sums: map[string][2]int{}}
				least := func(path string, want int) {
					if got := y.changes(path); got < want {
						f.Errorf("%d events of %s where a read shows %d", got, path, want)
					}
				}
				for !over() && !f.Failed() {
					na, nb := f.main.mayRead(a), f.main.mayRead(b)
					least(a, int(na.Stat.Version)+1)
					least(a+"/k", int(na.Stat.ChildVersion))
					v := int(nb.Stat.Version)
					least(b, v+1)
					least(a, v/3+1)
					least(a+"/k", v-v/3)
				}
			})
		}
		group.Wait()
	})
}

// testManyReads reads nodes of every kind concurrently.
func testManyReads(f *fixture) {
	kinds := []string{"none", "empty", "data", "parent", "bound", "large", "none/below"}
	f.main.commit(created(f.path("empty")), create(f.path("data"), "x"), create(f.path("parent"), "p"),
		created(f.path("parent", "l")), created(f.path("parent", "k")), ephemeral(f.path("bound")),
		create(f.path("large"), string(make([]byte, 100_000))))
	look := func(n registry.Node) string {
		digest := sha256.Sum256(n.Data) // the data is long
		n.Data = nil
		return fmt.Sprintf("%s with data of %x", show(n), digest)
	}
	var want []string
	for _, name := range kinds {
		want = append(want, look(f.main.read(f.path(name))))
	}
	var group sync.WaitGroup
	for r := range readers {
		group.Go(func() {
			for i := range 20 * len(kinds) {
				k := (i + r) % len(kinds)
				if got := look(f.main.mayRead(f.path(kinds[k]))); got != want[k] {
					f.Errorf("%s: %s, want %s", kinds[k], got, want[k])
				}
			}
		})
	}
	group.Wait()
}

// testSync creates nodes in one session, and reads them in another after a sync.
func testSync(f *fixture) {
	other := f.join()
	for i := range 20 {
		path := f.path(strconv.Itoa(i))
		f.main.commit(created(path))
		other.sync()
		if !other.read(path).Exists || !slices.Contains(other.read(f.root).Children, strconv.Itoa(i)) {
			f.Errorf("%s not seen after sync", path)
		}
	}
}
