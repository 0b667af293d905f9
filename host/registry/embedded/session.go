package embedded

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/wasmjob/wasmjob/host/registry"
	"github.com/wasmjob/wasmjob/host/registry/internal/events"
)

// session implements registry.Session.
type session struct {
	registry *Registry
	id       registry.SessionID
	events   *events.Queue

	// Guarded by registry.mu.
	ended   bool
	follows []string // roots
}

func (s *session) ID() registry.SessionID { return s.id }

// Timeout returns 0: a session lives as long as its process, so it has no time-out.
func (s *session) Timeout() time.Duration { return 0 }

// Acknowledged returns the current time, since the session has no time-out.
func (s *session) Acknowledged() time.Time { return time.Now() }

// lock locks the registry's mu for a request, unless ctx or the session is over. what names the
// request in errors.
func (s *session) lock(ctx context.Context, what string) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	s.registry.mu.Lock()
	if s.ended {
		s.registry.mu.Unlock()
		return registry.ErrEnded
	}
	return nil
}

// Commit implements registry.Session. It waits for the disk, unless the transaction is relaxed or
// writes only nodes that end with their session.
func (s *session) Commit(ctx context.Context, ops ...registry.Op) (registry.Receipt, error) {
	r := s.registry
	if err := ctx.Err(); err != nil {
		return registry.Receipt{}, fmt.Errorf("commit: %w", err)
	}
	if size := sizeOf(ops); size > r.options.MaxCommit {
		return registry.Receipt{}, fmt.Errorf("%w: %d bytes, at most %d", registry.ErrTooLarge, size, r.options.MaxCommit)
	}
	ops = owned(ops)
	when := urgently
	if r.options.Relaxed != nil && r.options.Relaxed(ops) {
		when = lazily
	}

	r.mu.Lock()
	receipt, batch, err := s.apply(ops, when)
	mark := s.events.Mark()
	r.mu.Unlock()
	if err != nil {
		return registry.Receipt{}, err
	}
	if err := batch.wait(ctx); err != nil {
		return registry.Receipt{}, fmt.Errorf("%w: %w", registry.ErrUnknown, err)
	}
	s.events.Settle(mark)
	return receipt, nil
}

// apply commits ops to the tree and the log. It returns the batch to wait for; nil: the reply
// waits for no disk. The registry's mu must be held.
func (s *session) apply(ops []registry.Op, when urgency) (registry.Receipt, *batch, error) {
	r := s.registry
	if s.ended {
		return registry.Receipt{}, nil, registry.ErrEnded
	}
	if r.readOnly != nil {
		return registry.Receipt{}, nil, r.readOnly
	}
	// The last rule counts: a sequential name must never be assigned twice, so it must be
	// durable.
	if r.volatile(ops) {
		when = lazily
	}
	if sequential(ops) {
		when = urgently
	}
	now := time.Now().UnixMilli()
	receipt, changes, err := r.tree.Apply(s.id, now, ops)
	if err != nil {
		return registry.Receipt{}, nil, err
	}
	var b *batch
	if r.journal != nil {
		record := record{kind: recordCommit, revision: receipt.Revision, nowMS: now, owner: s.id, ops: ops}
		if b, err = r.journal.append(record, when); err != nil {
			// No other session has seen the change: mu is still held.
			r.tree.Undo()
			return registry.Receipt{}, nil, err
		}
	}
	r.notify(changes)
	return receipt, b, nil
}

// volatile reports whether ops write only nodes that end with their session. After a restart
// nothing shows whether such ops were durable.
func (r *Registry) volatile(ops []registry.Op) bool {
	for i := range ops {
		switch ops[i].Kind {
		case registry.CreateEphemeral, registry.CreateEphemeralSequential, registry.Check, registry.Absent:
		case registry.Set, registry.Delete:
			if r.tree.Get(ops[i].Path).Stat.Owner == 0 {
				return false
			}
		default:
			return false
		}
	}
	return true
}

// sequential reports whether one of the ops lets the registry choose a name.
func sequential(ops []registry.Op) bool {
	return slices.ContainsFunc(ops, func(op registry.Op) bool {
		return op.Kind == registry.CreateSequential || op.Kind == registry.CreateEphemeralSequential
	})
}

// sizeOf returns the size of a transaction, for Options.MaxCommit.
func sizeOf(ops []registry.Op) int {
	size := 0
	for i := range ops {
		size += len(ops[i].Path) + len(ops[i].Data) + opOverhead
	}
	return size
}

// owned copies ops, since the tree keeps their data and the caller may change it.
func owned(ops []registry.Op) []registry.Op {
	size := 0
	for i := range ops {
		size += len(ops[i].Data)
	}
	ops = slices.Clone(ops)
	buffer := make([]byte, 0, size)
	for i := range ops {
		start := len(buffer)
		buffer = append(buffer, ops[i].Data...)
		ops[i].Data = slices.Clip(buffer[start:])
	}
	return ops
}

// Read implements registry.Session. The caller may change the result, so it is a copy.
func (s *session) Read(ctx context.Context, path string) (registry.Node, error) {
	if err := s.lock(ctx, "read "+path); err != nil {
		return registry.Node{}, err
	}
	n := s.registry.tree.Get(path)
	mark := s.events.Mark()
	s.registry.mu.Unlock()

	n.Data = bytes.Clone(n.Data)
	n.Children = slices.Clone(n.Children)
	s.events.Settle(mark)
	return n, nil
}

// Follow takes effect at once, since there is no connection.
func (s *session) Follow(ctx context.Context, root string) error {
	if err := s.lock(ctx, "follow "+root); err != nil {
		return err
	}
	defer s.registry.mu.Unlock()
	if !slices.Contains(s.follows, root) {
		s.follows = append(s.follows, root)
		s.registry.followers[s] = struct{}{}
	}
	return nil
}

func (s *session) followed(path string) bool {
	return slices.ContainsFunc(s.follows, func(root string) bool { return registry.Within(path, root) })
}

// Sync does more than the port requires: it waits until all earlier commits are on the disk,
// and fails if they cannot be written. So it settles an unknown outcome for good.
func (s *session) Sync(ctx context.Context) error {
	if err := s.lock(ctx, "sync"); err != nil {
		return err
	}
	r := s.registry
	if err := r.readOnly; err != nil {
		r.mu.Unlock()
		return fmt.Errorf("sync: %w", err)
	}
	var b *batch
	if r.journal != nil {
		b = r.journal.flush()
	}
	mark := s.events.Mark()
	r.mu.Unlock()

	if err := b.wait(ctx); err != nil {
		return fmt.Errorf("sync: %w", err)
	}
	s.events.Settle(mark)
	return nil
}

// Persist is Sync, which does more than the port requires of it.
func (s *session) Persist(ctx context.Context) error { return s.Sync(ctx) }

// Time implements registry.Session: the service's clock is that of this machine.
func (s *session) Time(ctx context.Context) (time.Time, error) {
	if err := s.lock(ctx, "time"); err != nil {
		return time.Time{}, err
	}
	defer s.registry.mu.Unlock()
	return time.Now(), nil
}

// Close ends the session. It does not wait until Ended is delivered, so that a callback may
// close its own session.
func (s *session) Close() error {
	s.registry.mu.Lock()
	defer s.registry.mu.Unlock()
	s.registry.end(s)
	return nil
}
