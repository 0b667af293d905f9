package layout

import (
	"bytes"
	"slices"

	"github.com/wasmjob/wasmjob/host/internal/layout/jobtree"
	"github.com/wasmjob/wasmjob/host/internal/layout/spelling"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/reason"
	"github.com/wasmjob/wasmjob/host/registry"
)

// The layouts whose members are known by their addresses. This release speaks the second.
const (
	layout1  = "1"
	layout20 = job.Layout20
)

// Of is the layout of a job, judged by its own node, config and the nodes of its
// servers. It is empty if they do not show a layout.
func Of(root, config registry.Node, servers []registry.Node) string {
	text := bytes.TrimSpace(bytes.TrimPrefix(config.Data, []byte("\ufeff")))
	switch {
	case len(config.Children) > 0:
		return layout1
	case slices.ContainsFunc(servers, jobtree.ByAddressIn), jobtree.ByAddressAt(root):
		return layout20
	case len(bytes.TrimSpace(root.Data)) > 0, spelling.YAML(text):
		return job.Layout3
	case bytes.HasPrefix(text, []byte("{")):
		return job.Layout21
	}
	return ""
}

// By is the spelling of a job by its own node and config alone. A tree that does not show
// a layout of ours counts as one of layout 2.1, which refuses it.
func By(namespace, name string, root, config registry.Node) Layout {
	if of := Of(root, config, nil); Known(of) {
		return New(of, namespace, name)
	}
	return NewJob(namespace, name)
}

// OtherError reports that this release does not speak the layout of a job. Its nodes
// are not touched.
type OtherError struct{ Layout string }

func (e *OtherError) Error() string { return reason.Of(reason.OtherLayout, e.Layout).String() }

// Found is the spelling of a job that was found in the registry. No configuration names
// its layout, so its tree decides. A tree that shows none counts as a damaged one of
// layout 2.1. For a layout that this release does not speak the error is an *OtherError.
func Found(namespace, name string, read func(paths []string) ([]registry.Node, error)) (Layout, error) {
	l := NewJob(namespace, name)
	nodes, err := read([]string{l.Root(), l.At(jobtree.NodeConfig), l.At(jobtree.NodeServers)})
	if err != nil {
		return nil, err
	}
	servers := make([]string, 0, len(nodes[2].Children))
	for _, ip := range nodes[2].Children {
		servers = append(servers, l.At(jobtree.NodeServers)+"/"+ip)
	}
	known, err := read(servers)
	if err != nil {
		return nil, err
	}
	switch of := Of(nodes[0], nodes[1], known); {
	case of == "":
		return l, nil
	case !Known(of):
		return nil, &OtherError{of}
	default:
		return New(of, namespace, name), nil
	}
}
