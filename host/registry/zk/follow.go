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

// unimplemented is the client library's text for a server's answer to an operation
// that the server is too old for.
const unimplemented = "unknown error: -6"

var errTooOld = errors.New("the server knows no recursive watches; ZooKeeper 3.6 or newer is needed")

// Follow implements registry.Session. The service forgets such a watch with the
// connection; it is set again on each new connection before any request may use
// that.
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
	for { // repeated if the path is followed already, since an unknown time
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

// watchBelow sets the watch on the connection of this moment.
func (s *session) watchBelow(path string) error {
	_, err := s.conn.Sync(strings.TrimSuffix(path, "/") + followMark)
	if err != nil && err.Error() == unimplemented {
		return errTooOld
	}
	return err //nolint:wrapcheck // the caller names the path
}

// restore makes a new connection fit for use: what is followed is followed
// there, too.
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
		_ = conn.Close() // it may have been closed
	}
}

func (s *session) followed(path string) bool {
	s.mu.Lock()
	follows := s.connection.follows
	s.mu.Unlock()
	return slices.ContainsFunc(follows, func(f follow) bool { return registry.Within(path, f.path) })
}

// changed takes an event of the service. The client library calls it before it
// says that the event's connection is lost, so no event is taken for one of the
// next connection. A recursive watch says what became of
// a node, and leaves it to the reader that its parent has another child, or one
// less.
func (s *session) changed(e client.Event) {
	if e.Type == client.EventNotWatching || !s.followed(e.Path) {
		return
	}
	s.events.Put(registry.Event{Kind: registry.Changed, Path: s.own(e.Path), Changes: 1, Gone: e.Type == client.EventNodeDeleted})
	if parent := parentOf(e.Path); e.Type != client.EventNodeDataChanged && s.followed(parent) {
		s.events.Put(registry.Event{Kind: registry.Changed, Path: s.own(parent)})
	}
}
