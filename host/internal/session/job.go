package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/wasmjob/wasmjob/host/registry"
)

// Job is the job session: one job's share of the session, from Open until Close or
// until the session ends. It records what the job has in the session, so that Close
// can remove it. All methods are safe for concurrent use.
type Job struct {
	parent   *openSession
	root     string
	listener Listener
	inFlight sync.WaitGroup // one for each request in flight

	mu      sync.Mutex     // guards the fields below
	closed  bool           // requests are refused
	commits int            // number of commits so far
	unknown int            // number of transactions of unknown outcome so far, also of Close
	settled int            // how many of them can no longer be applied later
	created map[string]int // ephemeral nodes that may exist, with the number of the commit that created them
}

var _ registry.Requests = (*Job)(nil)

// newJob returns the job session of the job at root, whose events go to j.
func newJob(c *openSession, root string, j Listener) *Job {
	return &Job{parent: c, root: root, listener: j}
}

// ID returns the id of the session, which owns the job's ephemeral nodes.
func (j *Job) ID() registry.SessionID { return j.parent.session.ID() }

// Health returns the health of the session at this moment. It reads the clock, so a
// process that was frozen notices before it does anything else.
func (j *Job) Health() Health { return j.parent.monitor.healthForJob() }

// Left returns for how long the session is certain not to become Lost, even if no
// further answer comes; negative if it is Lost already. bounded is false if the
// registry ends no sessions.
func (j *Job) Left() (left time.Duration, bounded bool) { return j.parent.monitor.left() }

// Skew returns by how many ms this server's clock is ahead of the registry's.
func (j *Job) Skew() int64 { return j.parent.clock.skew() }

// beginRequest counts a request as in flight, unless the job session is closed.
func (j *Job) beginRequest() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.closed {
		return registry.ErrEnded
	}
	j.inFlight.Add(1)
	return nil
}

// Commit implements registry.Requests.
func (j *Job) Commit(ctx context.Context, ops ...registry.Op) (registry.Receipt, error) {
	if err := j.beginRequest(); err != nil {
		return registry.Receipt{}, err
	}
	defer j.inFlight.Done()
	return j.commit(ctx, ops)
}

// commit sends a transaction, and records which ephemeral nodes it creates and deletes. The
// request was counted by beginRequest.
func (j *Job) commit(ctx context.Context, ops []registry.Op) (registry.Receipt, error) {
	j.recordCreations(ops)
	sent := j.parent.clock.now()
	receipt, err := j.parent.session.Commit(ctx, ops...)
	j.parent.clock.observe(sent, receipt.At)
	j.recordResult(ops, receipt, err)
	return receipt, err
}

// recordCreations records the ephemeral nodes that a commit is about to create. It
// does so before the commit, whose outcome may stay unknown.
func (j *Job) recordCreations(ops []registry.Op) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.commits++
	for i := range ops {
		if ops[i].Kind == registry.CreateEphemeral {
			if j.created == nil {
				j.created = map[string]int{}
			}
			j.created[ops[i].Path] = j.commits
		}
	}
}

// recordResult removes the nodes that a commit has deleted from the record, and
// adds those whose names the service chose.
func (j *Job) recordResult(ops []registry.Op, receipt registry.Receipt, err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if errors.Is(err, registry.ErrUnknown) {
		j.unknown++
	}
	if err != nil {
		return // Close ignores recorded nodes that do not exist
	}
	for i := range ops {
		switch ops[i].Kind { //nolint:exhaustive // the other kinds create no ephemeral node, or were recorded before the commit
		case registry.Delete:
			delete(j.created, ops[i].Path)
		case registry.CreateEphemeralSequential:
			if j.created == nil {
				j.created = map[string]int{}
			}
			j.created[receipt.Results[i].Path] = j.commits
		}
	}
}

// Read implements registry.Requests.
func (j *Job) Read(ctx context.Context, path string) (registry.Node, error) {
	if err := j.beginRequest(); err != nil {
		return registry.Node{}, err
	}
	defer j.inFlight.Done()
	return j.parent.session.Read(ctx, path)
}

// Sync implements registry.Requests.
func (j *Job) Sync(ctx context.Context) error {
	if err := j.beginRequest(); err != nil {
		return err
	}
	defer j.inFlight.Done()
	return j.parent.session.Sync(ctx)
}

// Timeout returns the session's time-out; 0 on the registry inside a server.
func (j *Job) Timeout() time.Duration { return j.parent.session.Timeout() }

// Persist implements registry.Requests.
func (j *Job) Persist(ctx context.Context) error {
	if err := j.beginRequest(); err != nil {
		return err
	}
	defer j.inFlight.Done()
	return j.parent.session.Persist(ctx)
}

// Time implements registry.Requests.
func (j *Job) Time(ctx context.Context) (time.Time, error) {
	if err := j.beginRequest(); err != nil {
		return time.Time{}, err
	}
	defer j.inFlight.Done()
	return j.parent.session.Time(ctx)
}

// Submit queues a commit of ops behind the writes of all jobs and returns at once.
// It passes the result to reply, which must not block.
func (j *Job) Submit(ctx context.Context, ops []registry.Op, reply func(registry.Receipt, error)) {
	if err := j.beginRequest(); err != nil {
		reply(registry.Receipt{}, err)
		return
	}
	j.parent.server.pool.write(func() {
		defer j.inFlight.Done()
		reply(j.commit(ctx, ops))
	})
}

// Fetch queues a read of a node behind all queued writes and the reads of all jobs,
// and returns at once. It passes the result to reply, which must not block.
func (j *Job) Fetch(ctx context.Context, path string, reply func(registry.Node, error)) {
	if err := j.beginRequest(); err != nil {
		reply(registry.Node{}, err)
		return
	}
	j.parent.server.pool.read(func() {
		defer j.inFlight.Done()
		reply(j.parent.session.Read(ctx, path))
	})
}

// Close ends the job session. New requests are refused, and Close waits for those
// in flight: cancel their contexts first. If the session lives, Close then waits
// until no commit has an unknown outcome, and deletes the ephemeral nodes that the
// job created, in one transaction if they fit: other members see the same as at the
// end of a registry session. After an error Close can be called again; the job must
// not begin again before it has returned nil.
func (j *Job) Close(ctx context.Context) error {
	j.refuseRequests()
	j.inFlight.Wait()
	for j.hasRemains() && j.parent.ctx.Err() == nil {
		err := j.removeNodes(ctx)
		if errors.Is(err, registry.ErrEnded) {
			break // the service deletes the nodes itself
		}
		if err != nil && !errors.Is(err, registry.ErrConflict) {
			return fmt.Errorf("delete the job's ephemeral nodes: %w", err)
		}
	}
	j.parent.removeJob(j)
	j.parent.recheckNamespace() // whoever removed the job may have removed the namespace, too
	return nil
}

// Abandon retries a failed Close in the background, for a job that does not begin again
// here. Open waits until that has succeeded or the session has ended.
func (j *Job) Abandon() { j.parent.closeLater(j) }

// refuseRequests makes beginRequest refuse all later requests.
func (j *Job) refuseRequests() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.closed = true
}

// hasRemains reports whether the job may have ephemeral nodes, or a commit of
// unknown outcome, in the session.
func (j *Job) hasRemains() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.unknown > j.settled || len(j.created) > 0
}

// removeNodes makes sure that no commit of unknown outcome is still applied later,
// and deletes the ephemeral nodes, the newest first: a node may depend on those
// that were created before it. Nodes that are gone, or that another session has created
// since, are forgotten. If one transaction is too large, it is halved.
func (j *Job) removeNodes(ctx context.Context) error {
	s := j.parent.session
	made, err := j.settleUnknown(ctx)
	if err != nil {
		return err
	}
	var ops []registry.Op
	for _, path := range slices.SortedFunc(maps.Keys(made), func(a, b string) int {
		return cmp.Or(cmp.Compare(made[b], made[a]), cmp.Compare(a, b))
	}) {
		n, err := s.Read(ctx, path)
		if err != nil {
			return err
		}
		if n.Exists && n.Stat.Owner == s.ID() {
			ops = append(ops, registry.Op{Kind: registry.Delete, Path: path, Version: n.Stat.Version})
			continue
		}
		j.forget(path)
	}
	for size := len(ops); len(ops) > 0; {
		size = min(size, len(ops))
		receipt, err := s.Commit(ctx, ops[:size]...)
		if errors.Is(err, registry.ErrTooLarge) && size > 1 {
			size /= 2
			continue
		}
		j.recordResult(ops[:size], receipt, err)
		if err != nil {
			return err
		}
		ops = ops[size:]
	}
	return nil
}

// settleUnknown waits until no transaction of unknown outcome that was sent so far can
// still be applied, and returns the nodes that may exist then. It does not settle a
// commit that the session's watcher sends meanwhile to close the same job session.
func (j *Job) settleUnknown(ctx context.Context) (made map[string]int, err error) {
	j.mu.Lock()
	unknown := j.unknown
	j.mu.Unlock()
	if err := j.parent.session.Sync(ctx); err != nil {
		return nil, err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.settled = max(j.settled, unknown)
	return maps.Clone(j.created), nil
}

// forget removes a node from the record, as it is not the job's.
func (j *Job) forget(path string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	delete(j.created, path)
}
