package host

import (
	"context"
	"fmt"

	"github.com/wasmjob/wasmjob/host/internal/layout"
	"github.com/wasmjob/wasmjob/host/internal/layout/spelling"
	"github.com/wasmjob/wasmjob/host/internal/supply"
)

// maxPeers bounds how many members of a job are asked for their addresses.
const maxPeers = 64

// peersOf returns a function that reads in the registry at which addresses the other members of
// the named job serve modules.
func (h *Host) peersOf(name string) supply.Peers {
	_, _, members := layout.NewJob(h.o.Namespace, name).Nodes()
	return func(ctx context.Context) ([]string, error) {
		s, err := h.finder.Session(ctx)
		if err != nil {
			return nil, err
		}
		n, err := s.Read(ctx, members)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", members, err)
		}
		var addresses []string
		for _, id := range n.Children[:min(len(n.Children), maxPeers)] {
			m, err := s.Read(ctx, members+"/"+id)
			if err != nil {
				return nil, fmt.Errorf("read %s/%s: %w", members, id, err)
			}
			if a := spelling.PeerAddress(m); a != "" && a != h.store.Address() {
				addresses = append(addresses, a)
			}
		}
		return addresses, nil
	}
}
