package session

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/wasmjob/wasmjob/host/internal/backoff"
	"github.com/wasmjob/wasmjob/host/reason"
	"github.com/wasmjob/wasmjob/host/registry"
)

// openSession is one open session of the registry, with the job sessions in it.
type openSession struct {
	server  *Server
	session registry.Session
	monitor *monitor
	clock   clock
	ctx     context.Context //nolint:containedctx // lives as long as the session, not as a call
	cancel  context.CancelFunc
	ended   chan struct{}           // closed when the session is over
	logs    chan func(*slog.Logger) // log entries to write; see logLater

	closing sync.WaitGroup // one for each abandoned job session

	namespaceLock chan struct{} // a lock that can be waited for with a context; held while the namespace is created
	namespaceMade atomic.Bool   // the namespace exists, or is being created

	mu           sync.RWMutex      // guards the fields below; held while listeners are called
	jobs         map[string][]*Job // job sessions, by root of the job
	abandoned    map[string]*Job   // abandoned job sessions, by root
	disconnected bool              // the connection is lost
	health       Health            // as last reported to the jobs
	over         bool              // no job session may be opened any more
}

// prepareNamespace creates the nodes above the jobs, unless they are known to exist. It
// marks them as made before it creates them, so that recheckNamespace, called meanwhile, is
// not undone.
func (c *openSession) prepareNamespace(ctx context.Context) (err error) {
	select {
	case c.namespaceLock <- struct{}{}:
	case <-ctx.Done():
		return fmt.Errorf("wait until another job has created the namespace: %w", ctx.Err())
	}
	defer func() { <-c.namespaceLock }()
	if c.namespaceMade.Swap(true) {
		return nil
	}
	defer func() {
		if err != nil {
			c.namespaceMade.Store(false)
		}
	}()
	if err := CreateMissing(ctx, c.session, c.server.options.Namespace); err != nil {
		return fmt.Errorf("create the namespace: %w", err)
	}
	return nil
}

// CreateMissing creates those of the nodes that do not exist, in the given order.
// Others may create them at the same time.
func CreateMissing(ctx context.Context, r registry.Requests, paths []string) error {
	for _, path := range paths {
		n, err := r.Read(ctx, path)
		if err != nil {
			return err
		}
		if n.Exists {
			continue
		}
		_, err = r.Commit(ctx, registry.Op{Kind: registry.Create, Path: path})
		if err != nil && !errors.Is(err, registry.ErrConflict) {
			return err
		}
	}
	return nil
}

// recheckNamespace makes the next job session check whether the namespace still
// exists. It does not wait for the registry.
func (c *openSession) recheckNamespace() { c.namespaceMade.Store(false) }

// addJob creates a job session. It returns nil if the session has ended, and nil with
// busy set if nodes of an abandoned job session are still there.
func (c *openSession) addJob(root string, j Listener) (job *Job, busy bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over || c.abandoned[root] != nil {
		return nil, !c.over
	}
	job = newJob(c, root, j)
	c.jobs[root] = append(c.jobs[root], job)
	if c.disconnected {
		j.Event(registry.Event{Kind: registry.Suspended})
	}
	return job, false
}

// closeLater retries, in a goroutine, to close a job session until that succeeds or the
// session ends.
func (c *openSession) closeLater(j *Job) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over {
		return
	}
	c.abandoned[j.root] = j
	c.closing.Go(func() {
		for p := new(backoff.Backoff); c.ctx.Err() == nil && j.Close(c.ctx) != nil; {
			Sleep(c.ctx, p.Next())
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.abandoned, j.root)
	})
}

// awaitAbandoned prevents new job sessions, and waits for the abandoned ones.
func (c *openSession) awaitAbandoned() {
	c.mu.Lock()
	c.over = true
	c.mu.Unlock()
	c.closing.Wait()
}

// removeJob ends the delivery of events to a job session.
func (c *openSession) removeJob(j *Job) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.removeJobLocked(j)
}

// removeJobLocked is removeJob for callers that hold the lock.
func (c *openSession) removeJobLocked(j *Job) {
	if c.jobs[j.root] = slices.DeleteFunc(c.jobs[j.root], func(o *Job) bool { return o == j }); len(c.jobs[j.root]) == 0 {
		delete(c.jobs, j.root)
	}
}

// receive handles the events of the registry session. Changes of a node go to the
// jobs that the path belongs to, all other events to every job.
func (c *openSession) receive(e registry.Event) {
	if e.Kind == registry.Changed {
		c.mu.RLock()
		defer c.mu.RUnlock()
		for _, j := range c.jobs[c.server.rootOf(e.Path)] {
			j.listener.Event(e)
		}
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch e.Kind { //nolint:exhaustive // Changed is above
	case registry.Suspended:
		c.disconnected = true
		jobs := len(c.jobs)
		if _, ok := c.jobs[c.server.root()]; ok { // it follows the list of jobs
			jobs--
		}
		c.logLater(func(log *slog.Logger) {
			log.Warn("lost the connection to the registry", "reason_code", reason.ConnectionLost, "jobs", jobs)
		})
	case registry.Resumed:
		c.disconnected = false
		c.logLater(func(log *slog.Logger) { log.Info("reconnected to the registry in the same session") })
	case registry.Ended:
		c.over = true
		close(c.ended)
	}
	for j := range c.eachJob() {
		j.listener.Event(e)
	}
}

// eachJob yields all job sessions. mu is held meanwhile.
func (c *openSession) eachJob() iter.Seq[*Job] {
	return func(yield func(*Job) bool) {
		for _, of := range c.jobs {
			for _, j := range of {
				if !yield(j) {
					return
				}
			}
		}
	}
}

// rootOf returns the root of the job that a path belongs to: the path down to the first name
// below the parent of all jobs. The parent belongs to itself.
func (s *Server) rootOf(path string) string {
	above := len(strings.TrimSuffix(s.root(), "/"))
	if len(path) <= above {
		return path
	}
	if k := strings.IndexByte(path[above+1:], '/'); k >= 0 {
		return path[:above+1+k]
	}
	return path
}

// troubles returns what is wrong with this session.
func (c *openSession) troubles() []reason.Reason {
	c.mu.RLock()
	defer c.mu.RUnlock()
	var all []reason.Reason
	if c.disconnected {
		all = append(all, reason.Of(reason.ConnectionLost))
	}
	if c.health != Trusted {
		all = append(all, reason.Of(reason.SilentTooLong))
	}
	return all
}

// watch notifies the jobs when the health of the session changes, until the session
// ends. It waits only for time, never for the registry. It repeats the health if a job has
// seen a better one meanwhile.
func (c *openSession) watch(ctx context.Context) {
	defer c.cancel()
	known := Trusted
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
		case <-c.monitor.woken:
		case <-c.ended:
			return
		case <-ctx.Done():
			return
		}
		health, silent, again, regained := c.monitor.healthForWatcher()
		if again > 0 {
			timer.Reset(again)
		}
		if health == known && !regained {
			continue
		}
		c.setHealth(health)
		if health != known {
			c.logHealth(health, silent)
		}
		known = health
	}
}

// setHealth notifies every job of the session's health.
func (c *openSession) setHealth(health Health) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.health = health
	c.repeatHealth()
}

// repeatHealth reports the known health to every job again. mu is held.
func (c *openSession) repeatHealth() {
	for j := range c.eachJob() {
		j.listener.HealthChanged(c.health)
	}
}

// logHealth logs a health that has changed, and what follows from it for runs.
func (c *openSession) logHealth(health Health, silent time.Duration) {
	if health == Trusted {
		c.logLater(func(log *slog.Logger) { log.Info("the registry answers again") })
		return
	}
	consequence := "no run begins, and guests are asked to stop unless their job lets them finish"
	if health == Lost {
		consequence = "guests are ended unless their job lets them finish"
	}
	c.logLater(func(log *slog.Logger) {
		log.Error("the registry has not answered for long", "reason_code", reason.SilentTooLong, "consequence", consequence, "for", silent.String(), "session_timeout", c.session.Timeout().String())
	})
}

// maxLogs bounds the log entries that wait until keepSession writes them; further ones are
// dropped.
const maxLogs = 16

// logLater queues a log entry. Callers hold locks, and writing the log may block.
func (c *openSession) logLater(job func(*slog.Logger)) {
	select {
	case c.logs <- job:
	default:
	}
}
