package layout

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/wasmjob/wasmjob/host/internal/layout/jobtree"
	"github.com/wasmjob/wasmjob/host/internal/layout/spelling"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/registry"
)

// Of returns the layout that a job's nodes show; "" if they show none. root is the job's
// own node, config is the one below it, and servers are the nodes of its servers.
func Of(root, config registry.Node, servers []registry.Node) string {
	// An editor may have left a byte order mark.
	text := bytes.TrimSpace(bytes.TrimPrefix(config.Data, []byte("\ufeff")))
	switch {
	case len(config.Children) > 0 && len(text) == 0 && !slices.Contains(root.Children, jobtree.NodeInstances):
		return job.Layout1 // each key is a node; later layouts with stray keys have the node of instances
	case slices.ContainsFunc(servers, jobtree.ByAddressIn), jobtree.ByAddressAt(root):
		return job.Layout20
	case len(bytes.TrimSpace(root.Data)) > 0, spelling.YAML(text):
		return job.Layout3 // the job's own node names a class, or config is YAML
	case bytes.HasPrefix(text, []byte("{")):
		return job.Layout21
	}
	return ""
}

// By returns the spelling of a job by its own node and config alone. These do not always
// distinguish layout 2.0 from 2.1.
func By(namespace, name string, root, config registry.Node) Layout {
	return spelled(Of(root, config, nil), namespace, name)
}

// spelled returns the spelling of a job in a layout. A tree that shows no layout counts as
// one of layout 2.1, which then reports it.
func spelled(of, namespace, name string) Layout {
	return New(cmp.Or(of, job.Layout21), namespace, name)
}

// Found returns the spelling of a job that was found in the registry. No file names its
// layout, so its tree decides. A tree that shows none counts as a damaged one of layout
// 2.1.
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
	return spelled(Of(nodes[0], nodes[1], known), namespace, name), nil
}
