package zk

import (
	"errors"
	"fmt"

	client "github.com/go-zookeeper/zk"

	"github.com/wasmjob/wasmjob/host/registry"
)

var (
	// ErrClosed is returned by Open on a registry that was closed.
	ErrClosed = errors.New("registry: closed")

	errDisconnected = errors.New("not connected")
)

// reasonOf translates the refusal of one request. Zero: err is no refusal of
// the port.
func reasonOf(err error, create bool) registry.Reason {
	switch {
	case errors.Is(err, client.ErrNoNode) && create:
		return registry.NoParent
	case errors.Is(err, client.ErrNoNode):
		return registry.NoNode
	case errors.Is(err, client.ErrNodeExists):
		return registry.NodeExists
	case errors.Is(err, client.ErrBadVersion):
		return registry.BadVersion
	case errors.Is(err, client.ErrNotEmpty):
		return registry.NotEmpty
	case errors.Is(err, client.ErrNoChildrenForEphemerals):
		return registry.EphemeralParent
	case errors.Is(err, client.ErrBadArguments):
		return registry.BadPath
	}
	return 0
}

// readError says why a request without effects failed.
func (s *session) readError(what string, err error) error {
	switch {
	case errors.Is(err, client.ErrSessionExpired), s.isOver():
		return fmt.Errorf("%s: %w", what, registry.ErrEnded)
	case errors.Is(err, client.ErrNoAuth):
		return fmt.Errorf("%s: %w", what, registry.ErrDenied)
	}
	return fmt.Errorf("%s: %w", what, err)
}
