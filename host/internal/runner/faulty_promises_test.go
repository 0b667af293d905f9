package runner

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/wasmjob/wasmjob/host/internal/layout"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/reason"
	"github.com/wasmjob/wasmjob/host/registry"
	"github.com/wasmjob/wasmjob/host/trace"
)

// Promises to a guest are checked where it runs, and promises to other servers where a
// server's transactions arrive. So a broken promise shows when it is broken, even if it
// harms no other server.

// margin is how late a promise may be kept: guests check ten times a second.
const margin = 200 * time.Millisecond

// inGuest is a guest that checks that it receives what it must.
type inGuest struct {
	*faultyServer
	of    *remote
	c     *job.Call
	inbox *inbox
	turn  uint64    // of the guest's loop
	still time.Time // since when a message waits for that turn; zero if none does
}

// newGuest registers a guest in the server's session.
func (s *faultyServer) newGuest(c *job.Call) *inGuest {
	g := &inGuest{faultyServer: s, of: s.network.newest(), c: c}
	s.mu.Lock()
	r := s.loops[c.Config.Name]
	s.mu.Unlock()
	if r != nil {
		r.requests.mu.Lock()
		g.inbox = r.requests.inbox
		r.requests.mu.Unlock()
	}
	return g
}

func (g *inGuest) String() string { return fmt.Sprintf("%s, attempt %d", g.c.RunID, g.c.Attempt) }

// finishes reports whether the guest may outlive its session.
func (g *inGuest) finishes() bool { return g.c.Config.OnRegistryLoss == job.FinishOnLoss }

// checkBegin checks that no guest begins in doubt, with a mixed definition, after it was
// asked to stop while it waited, or when another run replaces it.
func (g *inGuest) checkBegin() {
	if silent := g.of.silent(); silent > faultyTimeout/2 {
		g.breach("%s begins %v on %s after %v of silence", g.c.Instance, g, g.ip, silent)
	}
	g.checkDefinition()
	if why := g.c.Why(); why != job.Continue {
		g.breach("%s begins %v on %s, which was asked to stop: %d", g.c.Instance, g, g.ip, why)
	}
}

// check runs while the guest goes on.
func (g *inGuest) check(ctx context.Context) {
	over, silent, moves := ctx.Err() != nil, g.of.silent(), true
	if g.network.drowsy() {
		silent = 0
	}
	if g.inbox != nil {
		var waits bool
		n := g.turn
		if g.turn, waits = g.inbox.Turns(); !waits || g.turn != n {
			g.still = time.Now()
		}
		moves = time.Since(g.still) < margin
		if given := time.Since(g.still); !over && given > faultyTimeout*7/10+margin {
			g.breach("%v goes on, though its loop stands still for %v", g, given)
		}
	}
	switch {
	case !over && g.of.overFor() > margin:
		g.breach("%v goes on, %v after its server heard of the end of its session", g, g.of.overFor())
	case over || g.finishes():
	case silent > faultyTimeout*3/4+margin:
		g.breach("%v goes on after %v of silence", g, silent)
	case silent > faultyTimeout/2+margin && moves && g.c.Why() == job.Continue:
		g.breach("%v was not told of a silence of %v", g, silent)
	}
}

// linger lets a guest go on for a while after it was asked to stop. If the server stops
// and nothing endangers the session, that is longer than the server waits for it.
func (g *inGuest) linger(d time.Duration) {
	if g.c.Why() == job.StopShutdown {
		for k := 0; k < 100 && g.of.silent() < faultyTimeout/2 && g.of.overFor() == 0; k++ {
			g.pass(100 * time.Millisecond)
		}
	}
	g.pass(d)
}

// silent returns how long ago the service last confirmed the session.
func (s *remote) silent() time.Duration {
	slept := s.network.asleep()
	s.mu.Lock()
	defer s.mu.Unlock()
	return time.Since(s.acked) + slept - s.ackedAsleep
}

// hasEnded reports whether the client knows that the session is over.
func (s *remote) hasEnded() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.over
}

// overFor returns how long the client has known that the session is over.
func (s *remote) overFor() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.over {
		return 0
	}
	return time.Since(s.overAt)
}

// openRequests are the requests of a session that have no answer yet.
type openRequests struct {
	mu   sync.Mutex      // guards the fields below
	open map[string]bool // by root of a job: a transaction has had no answer since the last sync
	busy map[string]int  // by root of a job: requests under way
}

// rootOf is the root of the job that a path belongs to.
func rootOf(path string) string {
	parts := strings.SplitN(path, "/", 4)
	return strings.Join(parts[:min(3, len(parts))], "/")
}

// sends checks that a transaction without an answer is followed by a sync before another
// transaction. Transactions that only delete are excused: both the loop and its watcher
// may close a session that was given up, and neither waits for the other.
func (j *openRequests) sends(ops []registry.Op) (broken bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	takesAway := !slices.ContainsFunc(ops, func(o registry.Op) bool { return o.Kind != registry.Delete })
	return !takesAway && j.open[rootOf(ops[0].Path)]
}

func (j *openRequests) unknown(ops []registry.Op) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.open == nil {
		j.open = map[string]bool{}
	}
	j.open[rootOf(ops[0].Path)] = true
}

func (j *openRequests) synced() {
	j.mu.Lock()
	defer j.mu.Unlock()
	clear(j.open)
}

// carriedOut checks that a member whose nodes are gone has no guest, and that foreign
// marks stay.
func (s *faultyServer) carriedOut(ops []registry.Op, asked time.Time) {
	s.spares(ops, asked)
	s.bringsOnce(ops)
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range ops {
		if ops[i].Kind != registry.Delete {
			continue
		}
		for _, of := range s.inside {
			for run, c := range of {
				if ops[i].Path == layout.NewJob("test", c.Config.Name).Instance(c.Instance) {
					s.breach("%s has gone while %s runs", ops[i].Path, run)
				}
			}
		}
	}
}

// begins records a request until its end is reported.
func (j *openRequests) begins(path string) (ends func()) {
	count := func(n int) {
		j.mu.Lock()
		defer j.mu.Unlock()
		if j.busy == nil {
			j.busy = map[string]int{}
		}
		j.busy[rootOf(path)] += n
	}
	count(1)
	return func() { count(-1) }
}

// left checks that a job that has ended has no request under way.
func (s *faultyServer) left(name string) {
	of, gate := s.network.newest(), s.gates[name]
	if of == nil || of.hasEnded() || gate.isAbandoned() {
		return
	}
	root := layout.NewJob("test", name).Root()
	of.openRequests.mu.Lock()
	defer of.openRequests.mu.Unlock()
	if of.openRequests.open[root] || of.openRequests.busy[root] > 0 {
		s.breach("%s has ended on %s: %d requests are under way, one has no outcome: %v", name, s.ip, of.openRequests.busy[root], of.openRequests.open[root])
	}
}

// requested checks that one request of an operator is written once.
func (w *faultyWorld) requested(ops []registry.Op) {
	for i := range ops {
		if string(ops[i].Data) != "TRIGGER" {
			continue
		}
		w.mu.Lock()
		root := rootOf(ops[0].Path)
		if w.written[root]++; w.written[root] > w.wished[root] {
			w.breach("%d requests are written in %s for %d wishes", w.written[root], root, w.wished[root])
		}
		w.mu.Unlock()
		return
	}
}

// afterDisk is a server's history. It checks that rows are stored only after the registry
// has made durable what they record.
type afterDisk struct {
	*finalRows
	server *faultyServer
}

func (a afterDisk) Write(ctx context.Context, batch []trace.Row) error {
	a.server.fenced(batch)
	n := a.server.network
	n.mu.Lock()
	untold := !slices.ContainsFunc(batch, func(r trace.Row) bool { return r.State != trace.TakenOver || r.Reason.Code != reason.RegistryLost })
	switch n.stored++; {
	case n.stored > n.persisted && untold: // the server is stopping and cannot reach the registry
		n.stored--
	case n.stored > n.persisted:
		a.breach("rows are stored on %s before the registry is on its disk", a.server.ip)
	}
	n.mu.Unlock()
	return a.finalRows.Write(ctx, batch)
}
