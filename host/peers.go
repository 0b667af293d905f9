package host

import (
	"context"
	"fmt"

	"github.com/wasmjob/wasmjob/host/internal/layout"
	"github.com/wasmjob/wasmjob/host/internal/layout/spelling"
	"github.com/wasmjob/wasmjob/host/internal/supply"
)

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
		if a := spelling.PeerAddress(m); a != "" && a != d.h.store.Address() {
			addresses = append(addresses, a)
		}
	}
	return addresses, nil
}

// peersOf is peers for those who know a job by its name.
func (d *discoverer) peersOf(name string) supply.Peers {
	l := layout.NewJob(d.h.o.Namespace, name)
	return func(ctx context.Context) ([]string, error) { return d.peers(ctx, l) }
}

// maxPeers is how many members are asked for their address.
const maxPeers = 64
