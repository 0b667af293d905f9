package zk

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	client "github.com/go-zookeeper/zk"

	"github.com/wasmjob/wasmjob/host/registry"
)

// Read returns the node at path, which begins below the chroot.
func (s *session) Read(ctx context.Context, path string) (registry.Node, error) {
	if !registry.ValidPath(path) {
		return registry.Node{}, fmt.Errorf("read %q: not an absolute, clean path", path)
	}
	n, err := s.read(ctx, s.full(path))
	if err != nil {
		return registry.Node{}, s.readError("read "+path, err)
	}
	return n, nil
}

// read reads a node. Data and children are two requests, which are repeated in turn until nothing
// has changed between the last two: both answers then have the same stat. If the node had
// children at the last read, both are sent at once.
func (s *session) read(ctx context.Context, path string) (registry.Node, error) {
	early := make(chan children, 1)
	if s.lists.has(path) {
		go func() {
			list, _ := s.children(ctx, path) // after an error it is requested again
			early <- list
		}()
	} else {
		early <- children{}
	}
	data, err := s.get(ctx, path)
	for list := <-early; ; data, err = s.get(ctx, path) {
		if err == nil && data.stat.NumChildren > 0 && (list.stat == nil || *list.stat != *data.stat) {
			list, err = s.children(ctx, path)
		}
		switch {
		case errors.Is(err, client.ErrNoNode):
			return registry.Node{}, nil
		case err != nil:
			return registry.Node{}, err
		}
		n := registry.Node{Exists: true, Data: data.data, Stat: statOf(data.stat)}
		switch {
		case data.stat.NumChildren == 0:
			s.lists.note(path, false)
			return n, nil
		case *list.stat == *data.stat:
			s.lists.note(path, true)
			slices.Sort(list.names)
			n.Children = list.names
			return n, nil
		}
	}
}

type children struct {
	names []string
	stat  *client.Stat
}

// children reads the names of a node's children, with the state of the node.
func (s *session) children(ctx context.Context, path string) (children, error) {
	return call(ctx, s, func() (children, error) {
		names, stat, err := s.conn.Children(path)
		return children{names, stat}, err //nolint:wrapcheck // the caller of call names it
	})
}

// maxLists bounds the paths in lists. Beyond it all are forgotten, and reads are slower until
// they are known again.
const maxLists = 1000

// lists has the paths of nodes that had children when last read.
type lists struct {
	mu    sync.Mutex // guards paths
	paths map[string]struct{}
}

// has reports whether the node had children when it was last read.
func (l *lists) has(path string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, has := l.paths[path]
	return has
}

// note records whether a node has children.
func (l *lists) note(path string, list bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !list {
		delete(l.paths, path)
		return
	}
	if l.paths == nil || len(l.paths) >= maxLists {
		l.paths = map[string]struct{}{}
	}
	l.paths[path] = struct{}{}
}

// statOf converts the state of a node to that of the port.
func statOf(s *client.Stat) registry.Stat {
	owner := registry.SessionID(s.EphemeralOwner)
	if owner == math.MinInt64 {
		owner = 0 // marks a container node, which has no owner
	}
	return registry.Stat{
		Created: s.Czxid, Modified: s.Mzxid, ChildrenChanged: s.Pzxid,
		Version: s.Version, ChildVersion: s.Cversion,
		Owner: owner, ModifiedAt: time.UnixMilli(s.Mtime),
	}
}

// Persist implements registry.Session. The service reports nothing before most of its servers
// have it on disk, so there is nothing to wait for.
func (s *session) Persist(context.Context) error {
	if s.isOver() {
		return fmt.Errorf("persist: %w", registry.ErrEnded)
	}
	return nil
}

// Time implements registry.Session. Only writes get the service's time, so one transaction
// creates, sets and deletes a node, which is never visible.
func (s *session) Time(ctx context.Context) (time.Time, error) {
	if s.registry.options.ReadOnly {
		return time.Time{}, registry.ErrReadOnly
	}
	path := fmt.Sprintf("%s/wasmjobd-clock-%x", s.registry.options.Chroot, uint64(s.id.Load()))
	sent := time.Now()
	answers, err := call(ctx, s, func() ([]client.MultiResponse, error) {
		return s.conn.Multi(
			&client.CreateRequest{Path: path, Data: []byte{}, Acl: s.registry.acl},
			&client.SetDataRequest{Path: path, Data: []byte{}, Version: -1},
			&client.DeleteRequest{Path: path, Version: -1})
	})
	if err != nil {
		return time.Time{}, s.readError("time", err)
	}
	if len(answers) != 3 || answers[1].Stat == nil {
		return time.Time{}, errors.New("time: the answer cannot be understood")
	}
	s.acknowledge(sent)
	return time.UnixMilli(answers[1].Stat.Mtime), nil
}

// OpenToAll implements registry.Guarded. If the session may not read the permissions of a node,
// the node is guarded.
func (s *session) OpenToAll(ctx context.Context, path string) (bool, error) {
	if s.registry.options.Digest == "" {
		return false, nil
	}
	list, err := call(ctx, s, func() ([]client.ACL, error) {
		list, _, err := s.conn.GetACL(s.full(path))
		return list, err //nolint:wrapcheck // the caller of call names it
	})
	switch {
	case errors.Is(err, client.ErrNoNode), errors.Is(err, client.ErrNoAuth):
		return false, nil
	case err != nil:
		return false, s.readError("read the permissions of "+path, err)
	}
	return slices.ContainsFunc(list, func(a client.ACL) bool { return a.Scheme == "world" && a.Perms != 0 }), nil
}
