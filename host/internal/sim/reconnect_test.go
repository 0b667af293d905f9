package sim

import (
	"testing"

	"github.com/wasmjob/wasmjob/host/registry"
)

// TestOlderConnection checks that once a session has a new connection, no request of an
// older one is applied, even if it arrives after the new one has broken.
func TestOlderConnection(t *testing.T) {
	t.Parallel()
	for seed := range uint64(50) {
		p := fair()
		p.late = 1
		w := newWorld(seed, drawn(seed), p, nil)
		w.setup()
		s := w.newSession(w.timeout, func(message) {})
		path := w.job.Root() + "/late"
		s.toServer = w.now + 400*millisecond // the connection is slow
		s.request(func() { t.Error("the request arrived on its connection") }, func() {
			w.apply(s, []registry.Op{{Kind: registry.Create, Path: path}}, origin{what: "late"})
		}, false)
		w.after(100*millisecond, s.drop)
		w.after(200*millisecond, s.reconnected)
		w.after(300*millisecond, s.drop)
		w.after(500*millisecond, s.reconnected)
		for end := w.now + second; len(w.queue) > 0 && w.queue[0].at < end; {
			e := w.queue.pop()
			w.now = e.at
			e.do()
		}
		if w.tree.Get(path).Exists {
			t.Fatalf("seed %d carried out a request of the connection before the last", seed)
		}
	}
}
