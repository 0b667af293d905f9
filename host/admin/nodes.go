package admin

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"strings"
	"time"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/operator"
	"github.com/wasmjob/wasmjob/host/registry"
)

const nodesPath = "/api/v1/nodes"

// nodesDocument holds the first of the requested nodes, as many as fit.
type nodesDocument struct {
	Version int            `json:"version"`
	Nodes   []nodeDocument `json:"nodes"`
}

// nodeDocument is a node of the registry.
type nodeDocument struct {
	Path     string       `json:"path"`
	Exists   bool         `json:"exists"`
	Data     []byte       `json:"data,omitempty"` // in base64
	Children []string     `json:"children,omitempty"`
	Stat     statDocument `json:"stat,omitzero"`
}

// maxNodes is the size in bytes of values and names after which an answer gets no more
// nodes.
const maxNodes = 4 << 20

type statDocument struct {
	Created         int64              `json:"created"`
	Modified        int64              `json:"modified"`
	ChildrenChanged int64              `json:"children_changed"`
	Version         int32              `json:"version"`
	ChildVersion    int32              `json:"child_version"`
	Owner           registry.SessionID `json:"owner"`
	ModifiedAt      time.Time          `json:"modified_at"`
}

// readNodes answers with the first of the requested nodes of the registry, as many as fit. The client requests the
// others again.
func readNodes(r *request) (nodesDocument, error) {
	paths := r.query["path"]
	for _, at := range paths {
		if !strings.HasPrefix(at, "/") || path.Clean(at) != at { // one wrong path makes the whole request wrong
			paths = nil
			break
		}
	}
	if len(paths) == 0 {
		const want = "say which nodes, as in path=/wasmjobd"
		return nodesDocument{}, refuse(http.StatusBadRequest, codeBadRequest, want, fault{Parameter: "path", Message: want})
	}
	d, size := nodesDocument{Version: 1}, 0
	for _, at := range paths {
		n, err := r.op.Node(r.Context(), at)
		if err != nil {
			return nodesDocument{}, err
		}
		d.Nodes = append(d.Nodes, nodeDocument{at, n.Exists, n.Data, n.Children, statDocument(n.Stat)})
		size += len(n.Data)
		for _, name := range n.Children {
			size += len(name)
		}
		if size >= maxNodes {
			break
		}
	}
	return d, nil
}

// Operate returns an Operator that reads the server's registry through the client,
// to check it against another configuration. It cannot change anything. Close it
// before the client.
func (c *Client) Operate(ctx context.Context, namespace string) (*operator.Operator, error) {
	return operator.Open(ctx, readOnlyRegistry{c}, namespace)
}

// readOnlyRegistry is a server's registry, of which a client can only read nodes.
type readOnlyRegistry struct{ c *Client }

// Open implements registry.Registry.
func (o readOnlyRegistry) Open(context.Context, func(registry.Event)) (registry.Session, error) {
	return &reader{c: o.c, places: make(chan struct{}, maxRequests/2)}, nil
}

// Close implements registry.Registry.
func (readOnlyRegistry) Close() error { return nil }

// reader is a session that only reads. Any other use panics.
type reader struct {
	registry.Session // nil

	c *Client
	// places bounds the requests in flight. The server refuses more than maxRequests,
	// and other clients need some of them.
	places chan struct{}
}

// Read implements registry.Session.
func (r *reader) Read(ctx context.Context, path string) (registry.Node, error) {
	nodes, err := r.ReadMany(ctx, []string{path})
	if err != nil {
		return registry.Node{}, err
	}
	return nodes[0], nil
}

// ReadMany implements operator.ManyReader. It sends further requests as long as an answer has only the first of the
// nodes.
func (r *reader) ReadMany(ctx context.Context, paths []string) ([]registry.Node, error) {
	select {
	case r.places <- struct{}{}:
		defer func() { <-r.places }()
	case <-ctx.Done():
		return nil, fmt.Errorf("read %s: %w", paths[0], ctx.Err())
	}
	nodes := make([]registry.Node, 0, len(paths))
	for len(nodes) < len(paths) {
		wanted := paths[len(nodes):]
		var d nodesDocument
		if err := r.c.read(ctx, http.MethodGet, nodesPath+"?"+queryOf(wanted), nil, &d); err != nil {
			return nil, err
		}
		if len(d.Nodes) == 0 || len(d.Nodes) > len(wanted) {
			return nil, &host.Error{Code: host.Internal, Msg: fmt.Sprintf("the server returned %d nodes instead of %d: it is of another release, restart it", len(d.Nodes), len(wanted))}
		}
		for _, n := range d.Nodes {
			nodes = append(nodes, registry.Node{Exists: n.Exists, Data: n.Data, Children: n.Children, Stat: registry.Stat(n.Stat)})
		}
	}
	return nodes, nil
}

// queryOf returns the query for the first paths, as many as fit into the head of one request, but at least one.
func queryOf(paths []string) string {
	var b strings.Builder
	for _, at := range paths {
		one := "path=" + strings.ReplaceAll(url.QueryEscape(at), "%2F", "/")
		if b.Len() > 0 && b.Len()+1+len(one) > maxHead/2 {
			break
		}
		if b.Len() > 0 {
			b.WriteByte('&')
		}
		b.WriteString(one)
	}
	return b.String()
}

// Close implements registry.Session.
func (*reader) Close() error { return nil }
