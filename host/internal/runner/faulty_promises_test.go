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

// What a guest is promised is looked at where it runs, and what others are promised
// of a server where its transactions arrive. So a promise is broken at the moment
// at which it is, and not only if somebody else comes to harm by it.

// margin is how late a promise may be kept: guests look ten times a second.
const margin = 200 * time.Millisecond

// inGuest is a guest that checks whether it gets to know what it has to.
type inGuest struct {
	*faultyServer
	of    *remote
	c     *job.Call
	inbox *inbox
	turn  uint64    // of its loop
	still time.Time // since when something waits for that turn; zero: nothing does
}

// newGuest notes a guest in the session that the server has.
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

// checkBegin: no guest begins in doubt, or by half of a definition, or after it was
// asked to stop while it waited, or when another run takes its place.
func (g *inGuest) checkBegin() {
	if silent := g.of.silent(); silent > faultyTimeout/2 {
		g.breach("%s begins %v on %s after %v of silence", g.c.Instance, g, g.ip, silent)
	}
	g.checkDefinition()
	if why := g.c.Why(); why != job.Continue {
		g.breach("%s begins %v on %s, which was asked to stop: %d", g.c.Instance, g, g.ip, why)
	}
}

// check is called while the guest goes on.
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

// linger goes on for a while after the guest was asked to stop. If the server stops and
// nothing endangers the session, that is longer than the server waits for it.
func (g *inGuest) linger(d time.Duration) {
	if g.c.Why() == job.StopShutdown {
		for k := 0; k < 100 && g.of.silent() < faultyTimeout/2 && g.of.overFor() == 0; k++ {
			g.pass(100 * time.Millisecond)
		}
	}
	g.pass(d)
}

// silent is for how long the service has vouched for nothing.
func (s *remote) silent() time.Duration {
	slept := s.network.asleep()
	s.mu.Lock()
	defer s.mu.Unlock()
	return time.Since(s.acked) + slept - s.ackedAsleep
}

// hasEnded: the client knows that the session is over.
func (s *remote) hasEnded() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.over
}

// overFor is for how long the client has known that the session is over.
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
	mu   sync.Mutex      // guards what follows
	open map[string]bool // by root of a job: a transaction came to no answer since the last sync
	busy map[string]int  // by root of a job: requests under way
}

// rootOf is the root of the job that a path belongs to.
func rootOf(path string) string {
	parts := strings.SplitN(path, "/", 4)
	return strings.Join(parts[:min(3, len(parts))], "/")
}

// sends: after a transaction without an answer comes a sync, and then another one.
// What only takes away is excused: two may close a line that was given up, the loop
// and its watcher, and neither waits for the other.
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

// carriedOut: a member whose nodes are gone has no guest, and foreign marks stay.
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

// begins records a request that is under way, until its end is reported.
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

// left: nothing that a job asked for is under way when it has ended.
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

// requested: a request that an operator makes once is written once.
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

// afterDisk is the history of a server: rows are stored after the registry has on
// its disk what they tell of.
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
	case n.stored > n.persisted && untold: // the server stops, and has no registry to ask
		n.stored--
	case n.stored > n.persisted:
		a.breach("rows are stored on %s before the registry is on its disk", a.server.ip)
	}
	n.mu.Unlock()
	return a.finalRows.Write(ctx, batch)
}
