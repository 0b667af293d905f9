package admin

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"strings"
	"time"

	"github.com/wasmjob/wasmjob/host/operator"
	"github.com/wasmjob/wasmjob/host/registry"
)

const nodesPath = "/api/v1/nodes"

// nodeDocument is a node of the registry as it is.
type nodeDocument struct {
	Version  int          `json:"version"`
	Exists   bool         `json:"exists"`
	Data     []byte       `json:"data,omitempty"` // in base64
	Children []string     `json:"children,omitempty"`
	Stat     statDocument `json:"stat"`
}

type statDocument struct {
	Created         int64              `json:"created"`
	Modified        int64              `json:"modified"`
	ChildrenChanged int64              `json:"children_changed"`
	Version         int32              `json:"version"`
	ChildVersion    int32              `json:"child_version"`
	Owner           registry.SessionID `json:"owner"`
	ModifiedAt      time.Time          `json:"modified_at"`
}

func readNode(r *request) error {
	at := ""
	if err := r.readQuery(map[string]*string{"path": &at}); err != nil {
		return err
	}
	if !strings.HasPrefix(at, "/") || path.Clean(at) != at {
		const want = "say which node, as in path=/wasmjobd"
		return refuse(http.StatusBadRequest, codeBadRequest, want, fault{Parameter: "path", Message: want})
	}
	n, err := r.op.Node(r.Context(), at)
	if err != nil {
		return err
	}
	return r.answer(nodeDocument{1, n.Exists, n.Data, n.Children, statDocument(n.Stat)})
}

// Operate gives an Operator that looks at the server's registry through the client,
// for who has to hold what is there against a configuration of their own. It cannot
// change anything. The caller closes it before the client.
func (c *Client) Operate(ctx context.Context, namespace string) (*operator.Operator, error) {
	return operator.Open(ctx, onlyRead{c}, namespace)
}

// onlyRead is a server's registry as its nodes can be read from outside.
type onlyRead struct{ c *Client }

// Open implements registry.Registry.
func (o onlyRead) Open(context.Context, func(registry.Event)) (registry.Session, error) {
	return &reader{c: o.c, places: make(chan struct{}, maxRequests/2)}, nil
}

// Close implements registry.Registry.
func (onlyRead) Close() error { return nil }

// reader is a session that only reads. What else is asked of it is a mistake of the
// program.
type reader struct {
	registry.Session // nil

	c *Client
	// places are for requests under way: the server turns away who has more, and
	// others ask, too.
	places chan struct{}
}

// Read implements registry.Session.
func (r *reader) Read(ctx context.Context, path string) (registry.Node, error) {
	select {
	case r.places <- struct{}{}:
		defer func() { <-r.places }()
	case <-ctx.Done():
		return registry.Node{}, fmt.Errorf("read %s: %w", path, ctx.Err())
	}
	var d nodeDocument
	err := r.c.read(ctx, http.MethodGet, nodesPath+"?path="+url.QueryEscape(path), nil, &d)
	return registry.Node{Exists: d.Exists, Data: d.Data, Children: d.Children, Stat: registry.Stat(d.Stat)}, err
}

// Close implements registry.Session.
func (*reader) Close() error { return nil }
