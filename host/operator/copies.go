package operator

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/internal/layout"
	"github.com/wasmjob/wasmjob/host/internal/layout/spelling"
	"github.com/wasmjob/wasmjob/host/internal/module"
	"github.com/wasmjob/wasmjob/host/internal/peer"
	"github.com/wasmjob/wasmjob/host/job"
)

const (
	// uploadsAtOnce is the limit of concurrent uploads.
	uploadsAtOnce = 4
	// maxCopies is the limit of servers to which a module is uploaded.
	maxCopies = 64
)

// ModuleCopy is the upload of a module to one server.
type ModuleCopy struct {
	Address string `json:"address"`
	Fault   string `json:"fault,omitempty"` // why the server does not have the bytes; empty: it has

	err error
}

// spread uploads a module to servers of the cluster, except the one whose member is self, and
// reports which of them have it now. An empty self excepts no server. token is the peer token
// of the servers; without it none is asked.
func (o *Operator) spread(ctx context.Context, m peer.Module, token string, self job.InstanceID) ([]ModuleCopy, error) {
	if m.Size > module.MaxSize {
		return nil, failf(host.Invalid, nil, "the module has %d bytes, the limit is %d", m.Size, module.MaxSize)
	}
	addresses, closed, err := o.peerAddresses(ctx, self)
	if err != nil {
		return nil, err
	}
	first, why := min(len(addresses), maxCopies), fmt.Sprintf("not asked, as a push uploads to %d servers", maxCopies)
	if token == "" {
		first, why = 0, "not asked, as peer_token is not set here"
	}
	copies := uploadTo(ctx, m, addresses[:first], token)
	for _, a := range addresses[first:] {
		copies = append(copies, ModuleCopy{Address: a, Fault: why})
	}
	for _, a := range closed {
		copies = append(copies, ModuleCopy{Address: a, Fault: "it takes no modules; set peer_listen there"})
	}
	return copies, nil
}

// peerAddresses returns the addresses at which the servers of the cluster accept modules, and those of
// the servers that accept none. A server has the same id in each of its jobs, so it reads one member
// node per id.
func (o *Operator) peerAddresses(ctx context.Context, self job.InstanceID) (addresses, closed []string, err error) {
	const what = "look for the servers of the cluster"
	names, err := o.Names(ctx)
	if err != nil {
		return nil, nil, err
	}
	var above []string
	for _, name := range names {
		_, _, members := layout.NewJob(o.namespace, name).Nodes()
		above = append(above, members)
	}
	dirs, err := o.readAll(ctx, above, readsAtOnce)
	if err != nil {
		return nil, nil, readError(err, what)
	}
	var nodes, ids []string
	seen := map[string]bool{}
	for i, dir := range dirs {
		for _, id := range dir.Children {
			if !seen[id] && !isSelf(id, self) {
				seen[id] = true
				nodes, ids = append(nodes, above[i]+"/"+id), append(ids, id)
			}
		}
	}
	members, err := o.readAll(ctx, nodes, readsAtOnce)
	if err != nil {
		return nil, nil, readError(err, what)
	}
	for i, m := range members {
		switch a := spelling.PeerAddress(m); {
		case a == "" && m.Exists:
			closed = append(closed, job.InstanceID(ids[i]).IP())
		case a != "" && !slices.Contains(addresses, a):
			addresses = append(addresses, a)
		}
	}
	slices.Sort(addresses)
	slices.Sort(closed)
	return addresses, closed, nil
}

// isSelf reports whether an id belongs to the server self. The id gets another suffix with each
// session.
func isSelf(id string, self job.InstanceID) bool {
	return self != "" && (id == string(self) || strings.HasPrefix(id, string(self)+"-"))
}

// uploadTo sends the bytes of a module to servers.
func uploadTo(ctx context.Context, m peer.Module, addresses []string, token string) []ModuleCopy {
	c := peer.NewClient(peer.ClientOptions{Token: token})
	defer c.Close()
	copies := make([]ModuleCopy, len(addresses))
	var all errgroup.Group
	all.SetLimit(uploadsAtOnce)
	for i, a := range addresses {
		all.Go(func() error {
			copies[i] = ModuleCopy{Address: a, err: c.Upload(ctx, m, a)}
			if err := copies[i].err; err != nil {
				copies[i].Fault = err.Error()
			}
			return nil
		})
	}
	_ = all.Wait() // its errors are in copies
	return copies
}
