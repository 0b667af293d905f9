package cluster_test

import (
	"sync"
	"testing"
	"time"

	client "github.com/go-zookeeper/zk"
)

// cache is the cache of a job in every member of ElasticJob, Curator's TreeCache: it
// watches data and children of each node, and reads them again whenever they change.
type cache struct {
	conn *client.Conn
	todo chan func()
	work sync.WaitGroup

	mu    sync.Mutex // guards the fields below
	known map[string]bool
	busy  int // reads that were requested and are not done
	calm  *sync.Cond
}

// inFlight is how many reads are under way at once: Curator sends them without waiting.
const inFlight = 64

func newCache(b *testing.B, address, root string) *cache {
	b.Helper()
	t := &cache{todo: make(chan func(), 1<<20), known: map[string]bool{}}
	t.calm = sync.NewCond(&t.mu)
	conn, _, err := client.Connect([]string{address}, 20*time.Second, client.WithLogInfo(false), client.WithEventCallback(t.notify))
	if err != nil {
		b.Fatal(err)
	}
	t.conn = conn
	for range inFlight {
		t.work.Go(func() {
			for do := range t.todo {
				do()
				t.mu.Lock()
				t.busy--
				t.calm.Broadcast()
				t.mu.Unlock()
			}
		})
	}
	b.Cleanup(func() {
		t.wait()
		conn.Close()
		close(t.todo)
		t.work.Wait()
	})
	t.found(root)
	t.wait()
	return t
}

// wait waits until no read is due.
func (t *cache) wait() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for t.busy > 0 {
		t.calm.Wait()
	}
}

func (t *cache) later(do func()) {
	t.mu.Lock()
	t.busy++
	t.mu.Unlock()
	t.todo <- do
}

func (t *cache) notify(e client.Event) {
	switch e.Type {
	case client.EventNodeDataChanged:
		t.later(func() { t.data(e.Path) })
	case client.EventNodeChildrenChanged:
		t.later(func() { t.children(e.Path) })
	case client.EventNodeDeleted:
		t.mu.Lock()
		delete(t.known, e.Path)
		t.mu.Unlock()
	default:
	}
}

// found adds a node that did not exist before.
func (t *cache) found(path string) {
	t.mu.Lock()
	known := t.known[path]
	t.known[path] = true
	t.mu.Unlock()
	if !known {
		t.later(func() { t.data(path) })
		t.later(func() { t.children(path) })
	}
}

// An error means that the node is gone again, which an event reports.

func (t *cache) data(path string) { _, _, _, _ = t.conn.GetW(path) }

func (t *cache) children(path string) {
	names, _, _, err := t.conn.ChildrenW(path)
	if err != nil {
		return
	}
	for _, name := range names {
		t.found(path + "/" + name)
	}
}
