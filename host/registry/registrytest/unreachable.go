package registrytest

import (
	"context"
	"errors"
	"time"

	"github.com/wasmjob/wasmjob/host/registry"
)

// Unreachable is a registry that opens no session while Away returns true.
type Unreachable struct {
	registry.Registry
	Away func() bool
}

// ErrUnreachable is the error of Open while the registry cannot be reached.
var ErrUnreachable = errors.New("the registry cannot be reached")

// Open implements registry.Registry.
func (r Unreachable) Open(ctx context.Context, on func(registry.Event)) (registry.Session, error) {
	if r.Away() {
		return nil, ErrUnreachable
	}
	return r.Registry.Open(ctx, on)
}

// Until returns an Away that is true before the given time.
func Until(at time.Time) func() bool { return func() bool { return time.Now().Before(at) } }
