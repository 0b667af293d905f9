package operator

import (
	"context"
	"strings"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/internal/layout"
)

// maxNeighbours bounds how many nodes are named beside what is not there.
const maxNeighbours = 10

// Namespace is an error of the code NotFound if the namespace is not in the
// registry. It tells what is there instead, as far as the path goes.
func (o *Operator) Namespace(ctx context.Context) error {
	there, siblings := "/", []string(nil)
	for _, path := range append([]string{"/"}, layout.NewJob(o.namespace, "").Namespace()...) {
		n, err := o.session.Read(ctx, path)
		switch {
		case err != nil:
			return unread(err, "look at namespace %s", o.namespace)
		case !n.Exists:
			return failf(host.NotFound, nil, "there is no namespace %s in the registry%s", o.namespace, besides(there, siblings))
		}
		there, siblings = path, n.Children
	}
	return nil
}

// besides says what a node has.
func besides(path string, children []string) string {
	switch {
	case len(children) == 0 && path == "/":
		return ", which is empty"
	case len(children) == 0:
		return "; " + path + " is empty"
	case len(children) > maxNeighbours:
		children = append(children[:maxNeighbours:maxNeighbours], "…")
	}
	return "; " + path + " has: " + strings.Join(children, ", ")
}

// noJob is the error of a job that is not there, or whose namespace is not.
func (o *Operator) noJob(ctx context.Context, name string) error {
	if err := o.Namespace(ctx); err != nil {
		return err
	}
	return failf(host.NotFound, nil, "there is no job %q in namespace %s", name, o.namespace)
}
