package runner

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"log/slog"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/wasmjob/wasmjob/host/internal/layout"
	"github.com/wasmjob/wasmjob/host/internal/layout/spelling"
	"github.com/wasmjob/wasmjob/host/internal/layout/v21"
	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/internal/session"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/registry"
	"github.com/wasmjob/wasmjob/host/registry/embedded"
	"github.com/wasmjob/wasmjob/host/trace"
)

// faultyWorld is a set of servers with the same jobs on one registry.
type faultyWorld struct {
	*plan
	t        *testing.T
	begun    time.Time
	reg      registry.Registry
	operator registry.Session
	rows     *finalRows
	seen     watched
	servers  []*faultyServer
	story    *story

	mu    sync.Mutex // guards the fields below
	calm  bool
	fired map[itemOf]int // since the faults ended
	// wished counts the requests to run that operators made, and written those in the
	// registry, by the job's root.
	wished, written map[string]int
	strange         map[string]time.Time // foreign marks, and when they were created; zero once deleted
}

// story records what happened. It is printed if a promise is broken.
type story struct {
	begun time.Time
	mu    sync.Mutex // guards lines
	lines []string
}

func (s *story) add(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lines = append(s.lines, fmt.Sprintf("%9.3f ", time.Since(s.begun).Seconds())+fmt.Sprintf(format, args...))
}

func (s *story) Write(p []byte) (int, error) {
	s.add("  %s", p[:len(p)-1])
	return len(p), nil
}

// faultyServer is a server and its way to the registry.
type faultyServer struct {
	*faultyWorld
	ip      string
	network *network

	// control holds one element. It guards the fields below; a mutex would not do,
	// because virtual time stands still while a goroutine waits for a mutex.
	control chan struct{}
	end     func() // stops it and waits for that; nil if it has ended

	mu      sync.Mutex                       // guards the fields below
	inside  map[*remote]map[string]*job.Call // runs of each session
	loops   map[string]*Runner
	gates   map[string]*turnstile // of each job's loop
	stopped time.Time             // when it was last asked to stop
	file    *job.Config           // the version of the job that changes in files; nil for the first
	said    []byte                // what the server remembers of the file
	says    string                // the version that was last compared with the registry
	brought map[string]bool       // versions that the registry had then, or was given
	// replaced holds the runs that ended because another run replaced them, by session.
	replaced map[*remote]map[string]bool
}

func newFaultyWorld(t *testing.T, seed uint64) *faultyWorld {
	t.Helper()
	w := &faultyWorld{plan: newPlan(seed), t: t, begun: time.Now(), reg: embedded.Memory(), fired: map[itemOf]int{}, wished: map[string]int{}, written: map[string]int{}, strange: map[string]time.Time{}}
	w.story = &story{begun: w.begun}
	w.rows = &finalRows{breach: w.breach, ends: map[string]trace.Row{}}
	var err error
	if w.operator, err = w.reg.Open(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	for k := range w.plan.servers {
		s := &faultyServer{faultyWorld: w, ip: ipOf(k), control: make(chan struct{}, 1), inside: map[*remote]map[string]*job.Call{}, gates: map[string]*turnstile{}, brought: map[string]bool{}, replaced: map[*remote]map[string]bool{}}
		for _, c := range w.jobs {
			s.gates[c.Name] = &turnstile{}
		}
		s.network = newNetwork(w.reg, faultyTimeout, rand.New(rand.NewPCG(w.networkSeed, uint64(k))))
		s.network.ended, s.network.carriedOut, s.network.breach = s.sessionEnded, s.carriedOut, w.breach
		s.network.requested = w.requested
		w.servers = append(w.servers, s)
	}
	return w
}

// start starts the server if it has ended.
func (s *faultyServer) start() {
	s.control <- struct{}{}
	defer func() { <-s.control }()
	if s.end != nil {
		return
	}
	log := slog.New(slog.NewTextHandler(s.story, &slog.HandlerOptions{Level: storyLevel()})).With("server", s.ip)
	sessions := session.New(session.Options{Registry: s.network, Namespace: layout.NewJob("test", "").Namespace(), Log: log, Slept: s.network.asleep})
	ctx, cancel := context.WithCancelCause(s.t.Context())
	below, stopBelow := context.WithCancel(context.WithoutCancel(ctx))
	var work sync.WaitGroup
	work.Go(func() {
		if err := sessions.Run(below); err != nil {
			s.t.Errorf("the session: %v", err)
		}
	})
	s.mu.Lock()
	s.loops = map[string]*Runner{}
	s.mu.Unlock()
	var jobs sync.WaitGroup
	jobs.Go(func() { s.observeSessions(ctx, sessions) })
	for _, c := range s.jobs {
		if s.findsIn(c.Name) {
			continue
		}
		o := s.options(sessions, log, &c)
		o.Define = layout.NewJob("test", "").Define
		s.goesByFile(&o)
		jobs.Add(1)
		s.begin(ctx, o, jobs.Done)
	}
	endFinding := s.find(ctx, sessions, log, &jobs)
	s.end = func() {
		s.mu.Lock()
		s.stopped = time.Now()
		s.mu.Unlock()
		cancel(job.ErrStopNow)
		jobs.Wait()
		if err := endFinding(); err != nil {
			s.t.Errorf("the sessions of jobs that were found: %v", err)
		}
		stopBelow()
		work.Wait()
	}
}

// options returns the options of a job's runner.
func (s *faultyServer) options(sessions *session.Server, log *slog.Logger, c *job.Config) Options {
	return Options{
		Sessions: sessions, Layout: layout.NewJob("test", c.Name), Config: c, Instance: job.NewInstanceID(s.ip, "1"),
		Clock: &metronome{}, Guests: s.seen.guests(guestFunc(s.run)), Assigner: assignAverage{}, Sink: afterDisk{s.rows, s}, DrainTimeout: 5 * time.Second,
		Observe: s.observe, Log: slog.New(stiller{log.Handler(), s.gates[c.Name]}),
	}
}

// begin runs a job until ctx ends, and calls ended when the job has ended.
func (s *faultyServer) begin(ctx context.Context, o Options, ended func()) *Runner {
	name, r := o.Config.Name, New(o)
	s.gates[name].renew()
	s.mu.Lock()
	s.loops[name] = r
	s.mu.Unlock()
	r.Start(ctx, func(err error) {
		if err != nil && !errors.Is(err, ErrUnsafe) {
			s.t.Errorf("%s on %s: %v", name, s.ip, err)
		}
		s.left(name)
		ended()
	})
	return r
}

// stop stops the server if it has not ended.
func (s *faultyServer) stop() {
	s.control <- struct{}{}
	defer func() { <-s.control }()
	if s.end != nil {
		s.end()
		s.end = nil
		s.story.add("%s has stopped", s.ip)
	}
}

// runner returns a job's runner; nil while the server is stopped or has not found the
// job.
func (s *faultyServer) runner(name string) *Runner {
	s.control <- struct{}{}
	defer func() { <-s.control }()
	if s.end == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.loops[name]
}

// ask makes a request and waits a limited time for the answer.
func (s *faultyServer) ask(name string, a protocol.Ask) {
	r := s.runner(name)
	if r == nil {
		return
	}
	ctx, cancel := context.WithTimeout(s.t.Context(), 20*time.Second)
	defer cancel()
	if _, ok := a.(protocol.AskTrigger); ok {
		s.faultyWorld.mu.Lock()
		s.wished[layout.NewJob("test", name).Root()]++
		s.faultyWorld.mu.Unlock()
	}
	s.story.add("%s: %#v of %s: %v", s.ip, a, name, r.Ask(ctx, a))
}

// define changes a job in the registry.
func (s *faultyServer) define(name string, change func(*v21.Config)) {
	r := s.runner(name)
	if r == nil {
		return
	}
	now := r.snapshot.Load()
	if now == nil || now.view.Config == nil {
		return
	}
	c, err := v21.DecodeConfig([]byte(now.view.Definition.Config.String()))
	if err != nil {
		s.t.Error(err)
		return
	}
	change(c)
	data, err := v21.UpdateConfig([]byte(now.view.Definition.Config.String()), c)
	if err != nil {
		s.t.Error(err)
		return
	}
	s.ask(name, protocol.AskConfig{Config: spelling.Text(data), Have: now.view.ConfigVersion})
}

// run is a guest. Its duration, its result, and whether it stops when asked are drawn for
// each attempt.
func (s *faultyServer) run(ctx context.Context, c job.Call) job.Outcome {
	g := s.newGuest(&c)
	g.checkBegin()
	s.enter(g.of, &c)
	defer s.leave(g.of, &c)
	h := fnv.New64a()
	fmt.Fprint(h, c.RunID, c.Attempt)
	rng := rand.New(rand.NewPCG(s.guestSeed, h.Sum64()))
	longest := 4 * time.Second
	if rng.IntN(2) == 0 {
		longest = 2 * faultyTimeout // it does not end by itself before its session does
	}
	length, asks, late := time.Duration(rng.Int64N(int64(longest))), rng.IntN(2) == 0, rng.IntN(3) == 0
	if s.isCalm() {
		length = min(length, time.Second)
	}
	for left := length; left > 0; left -= 100 * time.Millisecond {
		g.check(ctx)
		if asks && c.Why() != job.Continue || !session.Sleep(ctx, min(left, 100*time.Millisecond)) {
			if late {
				g.linger(time.Duration(rng.Int64N(int64(faultyTimeout / 8)))) // less than the time left of the session
			}
			return job.Outcome{Verdict: job.Stopped}
		}
	}
	switch rng.IntN(8) {
	case 0:
		return job.Outcome{Verdict: job.Failure, Error: "as the test wants it"}
	case 1:
		return job.Outcome{Verdict: job.Retryable}
	}
	return job.Outcome{Verdict: job.OK}
}

// enter registers a guest in the server's session.
func (s *faultyServer) enter(of *remote, c *job.Call) {
	run := fmt.Sprintf("%s, attempt %d", c.RunID, c.Attempt)
	s.story.add("%s begins %s", c.Instance, run)
	switch {
	case !of.alive():
		s.breach("%s begins %s after the end of its session", c.Instance, run)
	case s.rows.final(c.RunID):
		s.breach("%s begins %s although the run has its last row", c.Instance, run)
	}
	s.mu.Lock()
	if s.inside[of] == nil {
		s.inside[of] = map[string]*job.Call{}
	}
	s.inside[of][run] = c
	s.mu.Unlock()
	s.faultyWorld.mu.Lock()
	defer s.faultyWorld.mu.Unlock()
	if s.calm {
		s.fired[itemOf{c.Config.Name, c.Item}]++
	}
}

func (s *faultyServer) leave(of *remote, c *job.Call) {
	run := fmt.Sprintf("%s, attempt %d", c.RunID, c.Attempt)
	s.story.add("%s ends %s", c.Instance, run)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.inside[of][run] == c {
		delete(s.inside[of], run)
	}
}

// sessionEnded checks that no guest is left in the session.
func (s *faultyServer) sessionEnded(of *remote) {
	s.story.add("%s: session %d has ended", s.ip, of.ID())
	s.mu.Lock()
	defer s.mu.Unlock()
	for run, c := range s.inside[of] {
		if c.Config.OnRegistryLoss == job.FinishOnLoss {
			continue
		}
		s.breach("%s on %s goes on after its session", run, s.ip)
	}
}

func (w *faultyWorld) breach(format string, args ...any) {
	w.t.Errorf(format, args...)
	w.story.add("BREACH "+format, args...)
}

// pass lets virtual time pass.
func (w *faultyWorld) pass(d time.Duration) { session.Sleep(w.t.Context(), d) }

func (w *faultyWorld) isCalm() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.calm
}
