package zk

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"

	client "github.com/go-zookeeper/zk"

	"github.com/wasmjob/wasmjob/host/registry"
)

// unimplemented is the client library's text for the answer of a server that is too old for an
// operation.
const unimplemented = "unknown error: -6"

var errTooOld = errors.New("the server does not support recursive watches; use ZooKeeper 3.6 or newer")

// Follow implements registry.Session. The service forgets the watch with the connection; it is
// set again on each new connection before any request may use that connection. If the connection
// is lost meanwhile, Follow tries again on the next one.
func (s *session) Follow(ctx context.Context, root string) error {
	if !registry.ValidPath(root) {
		return fmt.Errorf("follow %q: not an absolute, clean path", root)
	}
	if s.isOver() {
		return registry.ErrEnded
	}
	path := s.full(root)
	s.mu.Lock()
	s.connection.ask(path)
	s.mu.Unlock()
	for { // also for a path that another call follows, since that call may have no answer yet
		_, err := call(ctx, s, func() (string, error) { return "", s.watchBelow(path) })
		if errors.Is(err, client.ErrConnectionClosed) && ctx.Err() == nil && !s.isOver() {
			continue
		}
		s.mu.Lock()
		s.connection.answered(path, err == nil)
		s.mu.Unlock()
		if err != nil {
			return s.readError("follow "+root, err)
		}
		return nil
	}
}

// watchBelow follows a path on the present connection. The library sends a sync, which wire
// converts.
func (s *session) watchBelow(path string) error {
	_, err := s.conn.Sync(strings.TrimSuffix(path, "/") + followMark)
	if err != nil && err.Error() == unimplemented {
		return errTooOld
	}
	return err //nolint:wrapcheck // the caller names the path
}

// restore makes connection number usable: it follows the same paths as the one before. If that
// fails, it closes conn, so that another is made.
func (s *session) restore(number int, conn net.Conn, paths []string) {
	ok := true
	for _, path := range paths {
		err := s.watchBelow(path)
		if errors.Is(err, errTooOld) {
			s.registry.options.Logger.Error("the session cannot go on", "error", err)
			s.end(true)
			return
		}
		if ok = err == nil; !ok {
			break
		}
	}
	if s.feed(func(c *connection) orders { return c.restored(number, ok) }).hangUp {
		_ = conn.Close() // it may be closed already
	}
}

// followed reports whether the session follows a node of that path of the service.
func (s *session) followed(path string) bool {
	s.mu.Lock()
	follows := s.connection.follows
	s.mu.Unlock()
	return slices.ContainsFunc(follows, func(f follow) bool { return registry.Within(path, f.path) })
}

// changed takes an event of the service. The client library calls it before it reports the loss
// of the event's connection, so no event is attributed to the next connection. A recursive
// watch reports changes of a node; that its parent's list of children has changed must be
// concluded.
func (s *session) changed(e client.Event) {
	if e.Type == client.EventNotWatching || !s.followed(e.Path) {
		return
	}
	s.events.Put(registry.Event{Kind: registry.Changed, Path: s.own(e.Path), Changes: 1, Gone: e.Type == client.EventNodeDeleted})
	if parent := parentOf(e.Path); e.Type != client.EventNodeDataChanged && s.followed(parent) {
		s.events.Put(registry.Event{Kind: registry.Changed, Path: s.own(parent)})
	}
}
