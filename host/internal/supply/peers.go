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

// Listen opens the address of Options.Listen, unless that is empty or the store has no
// modules.
func (s *Store) Listen(ctx context.Context) (err error) {
	if s.o.Listen == "" || s.engine == nil {
		return nil
	}
	if s.listener, err = peer.Listen(ctx, s.o.Listen, s.o.Token); err != nil {
		return err
	}
	s.address = cmp.Or(s.o.Address, s.reachable(s.listener.Addr()))
	s.o.Log.Info("serving modules to other servers", "address", s.address)
	return nil
}

// Address returns the address at which other servers reach this one; empty if they
// cannot.
func (s *Store) Address() string { return s.address }

// Serve sends modules to other servers until ctx ends. It returns at once if Listen
// opened nothing.
func (s *Store) Serve(ctx context.Context) error {
	if s.listener == nil {
		return nil
	}
	server := peer.NewServer(peer.ServerOptions{
		Address: s.address, Token: s.o.Token, Modules: offered{s}, Store: s.disk, Limit: module.MaxSize, Log: s.o.Log,
	})
	return server.Serve(ctx, s.listener)
}

// reachable returns the address at which other servers reach a.
func (s *Store) reachable(a net.Addr) string {
	at, err := netip.ParseAddrPort(a.String())
	if err != nil || !at.Addr().IsUnspecified() {
		return a.String()
	}
	_, port, _ := net.SplitHostPort(a.String())
	return net.JoinHostPort(s.o.IP, port)
}

// offered gives other servers the modules that a job of this server has leased.
type offered struct{ s *Store }

// Open implements peer.ModuleReader.
func (o offered) Open(digest string) (io.ReadCloser, int64, error) {
	o.s.mu.Lock()
	m := o.s.modules[digest]
	o.s.mu.Unlock()
	if m == nil {
		return nil, 0, fmt.Errorf("%w: no job holds module %s", module.ErrNotFound, digest)
	}
	return o.s.disk.Open(digest)
}

// Signature implements peer.ModuleReader.
func (o offered) Signature(digest string) ([]byte, error) {
	return o.s.disk.Signature(digest)
}
