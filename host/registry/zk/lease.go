package zk

import (
	"context"
	"errors"
	"time"

	client "github.com/go-zookeeper/zk"

	"github.com/wasmjob/wasmjob/host/registry"
)

// Acknowledged counts transactions, which prove that the session lives, since a majority of the
// servers has to accept them. ZooKeeper's sync does not prove it: a leader that was replaced
// without knowing it answers a sync alone, as it answers reads and resumed connections. So the
// keep-alive, and Sync, are a transaction that changes nothing.

// Acknowledged implements registry.Session.
func (s *session) Acknowledged() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.acked
}

// acknowledge records that a transaction was answered that was sent at that time. Answers may
// come out of order.
func (s *session) acknowledge(sent time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if sent.After(s.acked) {
		s.acked = sent
	}
}

// Sync implements registry.Session. It also waits for operations that have no answer yet: when
// it returns, none of them will be applied any more.
func (s *session) Sync(ctx context.Context) error {
	if err := s.awaitLate(ctx); err != nil {
		return s.readError("sync", err)
	}
	return s.keepAlive(ctx)
}

// keepAlive sends a transaction that changes nothing: it checks the session's root, whatever its
// version.
func (s *session) keepAlive(ctx context.Context) error {
	sent := time.Now()
	answers, err := call(ctx, s, func() ([]client.MultiResponse, error) {
		sent = time.Now()
		return s.conn.Multi(&client.CheckVersionRequest{Path: s.full("/"), Version: registry.AnyVersion})
	})
	// A refusal, for a node that is missing or that this user may not read, goes through the
	// majority like any transaction.
	refused := len(answers) == 1 && (errors.Is(err, client.ErrNoNode) || errors.Is(err, client.ErrNoAuth))
	switch {
	case err == nil, refused:
		s.acknowledge(sent)
		return nil
	case errors.Is(err, client.ErrSessionExpired):
		s.end(true)
	}
	return s.readError("sync", err)
}
