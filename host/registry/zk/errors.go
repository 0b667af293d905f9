package zk

import (
	"errors"
	"fmt"

	client "github.com/go-zookeeper/zk"

	"github.com/wasmjob/wasmjob/host/registry"
)

var (
	// ErrClosed is returned by Open on a closed registry.
	ErrClosed = errors.New("registry: closed")

	errDisconnected = errors.New("not connected")
)

// reasonOf returns the port's reason for a refused request, or zero if err is no refusal. create
// says that the request is a create, for which a missing node is the parent.
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

// readError returns the error for a failed request that changes nothing. what names the request.
func (s *session) readError(what string, err error) error {
	switch {
	case errors.Is(err, client.ErrSessionExpired), s.isOver():
		return fmt.Errorf("%s: %w", what, registry.ErrEnded)
	case errors.Is(err, client.ErrNoAuth):
		return fmt.Errorf("%s: %w", what, registry.ErrDenied)
	}
	return fmt.Errorf("%s: %w", what, err)
}
