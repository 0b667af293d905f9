package operator

import (
	"context"
	"slices"
	"strings"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/internal/layout"
	"github.com/wasmjob/wasmjob/host/internal/layout/clustertree"
)

// maxListed is the limit of nodes that the error for a missing namespace lists.
const maxListed = 10

// Namespace returns an error of the code NotFound if the namespace is not in the
// registry. The error lists the children of the deepest existing node on the path, without
// those that hold the state of a cluster.
func (o *Operator) Namespace(ctx context.Context) error {
	there, siblings := "/", []string(nil)
	for _, path := range append([]string{"/"}, layout.NewJob(o.namespace, "").Namespace()...) {
		n, err := o.session.Read(ctx, path)
		switch {
		case err != nil:
			return readError(err, "look at namespace %s", o.namespace)
		case !n.Exists:
			return failf(host.NotFound, nil, "there is no namespace %s in the registry%s", o.namespace, listChildren(there, siblings))
		}
		there, siblings = path, slices.DeleteFunc(slices.Clone(n.Children), func(name string) bool { return strings.HasSuffix(name, clustertree.Suffix) })
	}
	return nil
}

// listChildren lists the children of a node for the end of a message.
func listChildren(path string, children []string) string {
	switch {
	case len(children) == 0 && path == "/":
		return ", which is empty"
	case len(children) == 0:
		return "; " + path + " is empty"
	case len(children) > maxListed:
		children = append(children[:maxListed:maxListed], "…")
	}
	return "; " + path + " has: " + strings.Join(children, ", ")
}

// noJob is the error for a missing job, or for a missing namespace.
func (o *Operator) noJob(ctx context.Context, name string) error {
	if err := o.Namespace(ctx); err != nil {
		return err
	}
	return failf(host.NotFound, nil, "there is no job %q in namespace %s", name, o.namespace)
}
