package operator

import (
	"context"

	"github.com/wasmjob/wasmjob/host/registry"
)

// ManyReader is a session that reads several nodes in one request, because each request
// is expensive.
type ManyReader interface {
	// ReadMany is Read for each of the paths.
	ReadMany(ctx context.Context, paths []string) ([]registry.Node, error)
}

// Node reads a node of the registry. A missing node is not an error; its Exists is false.
func (o *Operator) Node(ctx context.Context, path string) (registry.Node, error) {
	n, err := o.session.Read(ctx, path)
	if err != nil {
		return registry.Node{}, readError(err, "read %s", path)
	}
	return n, nil
}
