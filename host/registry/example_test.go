package registry_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/registry"
	"github.com/wasmjob/wasmjob/host/registry/tree"
)

// Memory is a registry of your own: it keeps a tree in memory, for all servers of one process.
// Package tree has the rules for transactions and nodes, so Memory adds only sessions and the
// delivery of events. An adapter for a service would send the same requests to the service.
// TestMemory shows that it keeps the promises of the port.
type Memory struct {
	mu       sync.Mutex // guards the fields below; held while events are delivered, so that none is late
	tree     *tree.Tree
	last     registry.SessionID
	sessions []*session // open ones
	closed   bool
}

// maxCommit bounds one transaction, in bytes.
const maxCommit = 1 << 20

// NewMemory creates a Memory.
func NewMemory() *Memory { return &Memory{tree: tree.New()} }

// Open starts a session.
func (m *Memory) Open(ctx context.Context, on func(registry.Event)) (registry.Session, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case m.closed:
		return nil, errors.New("the registry is closed")
	}
	m.last++
	s := &session{m: m, id: m.last, on: on}
	m.sessions = append(m.sessions, s)
	return s, nil
}

// Close ends every session.
func (m *Memory) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed = true
	for len(m.sessions) > 0 {
		m.end(m.sessions[0])
	}
	return nil
}

// end ends a session: its ephemeral nodes are deleted, and it receives Ended.
func (m *Memory) end(s *session) {
	i := slices.Index(m.sessions, s)
	if i < 0 {
		return
	}
	m.sessions = slices.Delete(m.sessions, i, i+1)
	m.notify(m.tree.EndSession(s.id, time.Now().UnixMilli()))
	s.on(registry.Event{Kind: registry.Ended})
}

// notify delivers changes to the sessions that follow them.
func (m *Memory) notify(changes []tree.Change) {
	for _, c := range changes {
		e := registry.Event{Kind: registry.Changed, Path: c.Path, Changes: 1, Gone: c.Kind == tree.Deleted}
		if c.Kind == tree.ChildrenChanged {
			e.Changes = 0
		}
		for _, s := range m.sessions {
			if s.follows(c.Path) {
				s.on(e)
			}
		}
	}
}

// session is one server's session.
type session struct {
	m     *Memory
	id    registry.SessionID
	on    func(registry.Event)
	roots []string // followed roots
}

// begin takes the lock for a request, or returns why the request fails.
func (s *session) begin(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.m.mu.Lock()
	if !slices.Contains(s.m.sessions, s) {
		s.m.mu.Unlock()
		return registry.ErrEnded
	}
	return nil
}

func (s *session) Commit(ctx context.Context, ops ...registry.Op) (registry.Receipt, error) {
	if err := s.begin(ctx); err != nil {
		return registry.Receipt{}, err
	}
	defer s.m.mu.Unlock()
	ops = slices.Clone(ops)
	size := 0
	for i := range ops {
		ops[i].Data = bytes.Clone(ops[i].Data) // the caller may modify it later
		size += len(ops[i].Path) + len(ops[i].Data)
	}
	if size > maxCommit {
		return registry.Receipt{}, registry.ErrTooLarge
	}
	receipt, changes, err := s.m.tree.Apply(s.id, time.Now().UnixMilli(), ops)
	if err != nil {
		return registry.Receipt{}, err
	}
	s.m.notify(changes)
	return receipt, nil
}

func (s *session) Read(ctx context.Context, path string) (registry.Node, error) {
	if err := s.begin(ctx); err != nil {
		return registry.Node{}, err
	}
	defer s.m.mu.Unlock()
	n := s.m.tree.Get(path)
	n.Data, n.Children = bytes.Clone(n.Data), slices.Clone(n.Children)
	return n, nil
}

func (s *session) Follow(ctx context.Context, root string) error {
	if err := s.begin(ctx); err != nil {
		return err
	}
	defer s.m.mu.Unlock()
	s.roots = append(s.roots, root)
	return nil
}

func (s *session) follows(path string) bool {
	return slices.ContainsFunc(s.roots, func(root string) bool {
		return path == root || strings.HasPrefix(path, strings.TrimSuffix(root, "/")+"/")
	})
}

// Sync has nothing to wait for: every answered request is complete.
func (s *session) Sync(ctx context.Context) error {
	if err := s.begin(ctx); err != nil {
		return err
	}
	s.m.mu.Unlock()
	return nil
}

// Persist does what is possible: everything is lost with the process, including the callers.
func (s *session) Persist(ctx context.Context) error { return s.Sync(ctx) }

func (s *session) Time(ctx context.Context) (time.Time, error) { return time.Now(), s.Sync(ctx) }

func (s *session) ID() registry.SessionID { return s.id }

// Timeout returns 0: no session ends by silence.
func (s *session) Timeout() time.Duration { return 0 }

func (s *session) Acknowledged() time.Time { return time.Now() }

func (s *session) Close() error {
	s.m.mu.Lock()
	defer s.m.mu.Unlock()
	s.m.end(s)
	return nil
}

// A host on a registry of your own, which any number of hosts could share.
func Example() {
	shared := NewMemory()
	defer shared.Close()
	ran := make(chan string, 2)
	h, err := host.New(host.Options{
		Registry: shared,
		Jobs:     []job.Config{{Name: "greet", Shards: 2, ItemParams: "0=Amsterdam,1=Berlin"}},
		Runner: host.Func(func(_ context.Context, c job.Call) job.Outcome {
			ran <- c.ItemParam
			return job.Outcome{Verdict: job.OK}
		}),
	})
	if err != nil {
		fmt.Println(err)
		return
	}

	ctx, stop := context.WithTimeout(context.Background(), time.Minute)
	var running sync.WaitGroup
	defer running.Wait()
	defer stop()
	running.Go(func() {
		if err := h.Run(ctx); err != nil {
			fmt.Println(err)
		}
	})
	<-h.Ready()
	if err := h.Trigger(ctx, "greet"); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(<-ran)
	fmt.Println(<-ran)
	// Unordered output:
	// Amsterdam
	// Berlin
}
