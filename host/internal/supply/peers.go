package supply

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net"
	"net/netip"

	"github.com/wasmjob/wasmjob/host/internal/module"
	"github.com/wasmjob/wasmjob/host/internal/peer"
)

// Listen opens the address on which other servers get modules, if there is to be one.
func (l *Store) Listen(ctx context.Context) (err error) {
	if l.o.Listen == "" || l.engine == nil {
		return nil // most servers of one machine
	}
	if l.listener, err = peer.Listen(ctx, l.o.Listen, l.o.Token); err != nil {
		return err
	}
	l.address = cmp.Or(l.o.Address, l.reachable(l.listener.Addr()))
	l.o.Log.Info("modules are given to other servers", "address", l.address)
	return nil
}

// Address is where other servers get modules; empty: nowhere.
func (l *Store) Address() string { return l.address }

// Serve gives modules to other servers until ctx ends, on the address that was
// opened.
func (l *Store) Serve(ctx context.Context) error {
	if l.listener == nil {
		return nil
	}
	server := peer.NewServer(peer.ServerOptions{
		Address: l.address, Token: l.o.Token, Modules: shelf{l}, Store: l.bytes, Limit: module.MaxSize, Log: l.o.Log,
	})
	return server.Serve(ctx, l.listener)
}

// reachable is how others reach an address of this server.
func (l *Store) reachable(a net.Addr) string {
	at, err := netip.ParseAddrPort(a.String())
	if err != nil || !at.Addr().IsUnspecified() {
		return a.String()
	}
	_, port, _ := net.SplitHostPort(a.String())
	return net.JoinHostPort(l.o.IP, port)
}

// shelf is what other servers may have: the modules that jobs hold here.
type shelf struct{ *Store }

// Open implements peer.ModuleReader.
func (s shelf) Open(digest string) (io.ReadCloser, int64, error) {
	s.mu.Lock()
	c := s.held[digest]
	s.mu.Unlock()
	if c == nil {
		return nil, 0, fmt.Errorf("%w: no job holds module %s", module.ErrNotFound, digest)
	}
	return s.bytes.Open(digest)
}
