package host

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/netip"

	"github.com/wasmjob/wasmjob/host/internal/layout"
	"github.com/wasmjob/wasmjob/host/internal/layout/spelling"
	"github.com/wasmjob/wasmjob/host/internal/module"
	"github.com/wasmjob/wasmjob/host/internal/peer"
)

// offer opens the address on which this server gives modules to others, and
// gives what serves it until its context ends; nil if there is to be none.
func (h *Host) offer(ctx context.Context) (serve func(context.Context) error, err error) {
	p := h.o.Peers
	if p.Listen == "" || h.library == nil {
		return nil, nil //nolint:nilnil // most servers of one machine
	}
	l, err := peer.Listen(ctx, p.Listen, p.Token)
	if err != nil {
		return nil, failf(Refused, err, "modules for other servers")
	}
	h.address = cmp.Or(p.Address, h.reachable(l.Addr()))
	h.o.Log.Info("modules are given to other servers", "address", h.address)
	server := peer.NewServer(peer.ServerOptions{
		Address: h.address, Token: p.Token, Modules: shelf{h.library}, Store: h.library.store, Limit: module.MaxSize, Log: h.o.Log,
	})
	return func(ctx context.Context) error { return server.Serve(ctx, l) }, nil
}

// reachable is how others reach an address of this server.
func (h *Host) reachable(a net.Addr) string {
	at, err := netip.ParseAddrPort(a.String())
	if err != nil || !at.Addr().IsUnspecified() {
		return a.String()
	}
	_, port, _ := net.SplitHostPort(a.String())
	return net.JoinHostPort(h.o.Instance.IP(), port)
}

// peers are the addresses where members of a job offer modules.
func (d *discoverer) peers(ctx context.Context, j layout.Layout) ([]string, error) {
	line, err := d.reader(ctx)
	if err != nil {
		return nil, err
	}
	_, _, members := j.Nodes()
	n, err := line.Read(ctx, members)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", members, err)
	}
	var addresses []string
	for _, id := range n.Children[:min(len(n.Children), maxPeers)] {
		m, err := line.Read(ctx, members+"/"+id)
		if err != nil {
			return nil, fmt.Errorf("read %s/%s: %w", members, id, err)
		}
		if a := spelling.PeerAddress(m); a != "" && a != d.h.address {
			addresses = append(addresses, a)
		}
	}
	return addresses, nil
}

// peersOf is peers for those who know a job by its name.
func (d *discoverer) peersOf(name string) offers {
	l := layout.NewJob(d.h.o.Namespace, name)
	return func(ctx context.Context) ([]string, error) { return d.peers(ctx, l) }
}

// maxPeers is how many members are asked for their address.
const maxPeers = 64
