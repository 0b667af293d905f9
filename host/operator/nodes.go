package operator

import (
	"context"

	"github.com/wasmjob/wasmjob/host/registry"
)

// ManyReader is a session to which a request costs so much more than a node that it reads
// several nodes by one.
type ManyReader interface {
	// ReadMany is Read for each of the paths.
	ReadMany(ctx context.Context, paths []string) ([]registry.Node, error)
}

// Node is a node of the registry as it is; one that is not there is no error.
func (o *Operator) Node(ctx context.Context, path string) (registry.Node, error) {
	n, err := o.session.Read(ctx, path)
	if err != nil {
		return registry.Node{}, unread(err, "read %s", path)
	}
	return n, nil
}
