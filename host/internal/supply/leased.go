package supply

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/wasmjob/wasmjob/host/internal/module"
	"github.com/wasmjob/wasmjob/host/internal/sandbox"
	"github.com/wasmjob/wasmjob/host/internal/signature"
)

// fetchTimeout bounds the time in which all peers together must send one module.
const fetchTimeout = 3 * time.Minute

// leased is a module with at least one lease, or one that is being loaded.
type leased struct {
	ready chan struct{} // closed when module, err and cancelled are final

	// Guarded by the store's mu:

	module    *sandbox.Module
	err       error
	cancelled bool // the context of the caller that loaded it ended
	leases    int
	sources   []Peers // of callers that wait for it, not asked yet
}

// Peers returns the addresses at which the members of a job offer modules.
type Peers func(context.Context) ([]string, error)

// lease returns the compiled module with the digest. One caller at a time loads a module,
// and the others wait for it. If this server does not have the module, the loading caller
// asks the peers of all waiting callers; peers may be nil. The caller must call release
// once for each lease.
func (s *Store) lease(ctx context.Context, digest string, peers Peers) (*sandbox.Module, error) {
	for {
		s.mu.Lock()
		m, known := s.modules[digest]
		if !known {
			m = &leased{ready: make(chan struct{})}
			s.modules[digest] = m
		}
		m.leases++
		if peers != nil && m.module == nil { // the loading caller may still ask them
			m.sources = append(m.sources, peers)
		}
		s.mu.Unlock()
		if !known {
			return s.loadForAll(ctx, digest, m)
		}
		select {
		case <-m.ready:
		case <-ctx.Done():
			s.releaseModule(digest, m)
			return nil, fmt.Errorf("wait for module %s: %w", digest, ctx.Err())
		}
		if !m.cancelled {
			return m.module, m.err
		}
		// The loading caller gave up; this one tries again.
		if ctx.Err() != nil {
			return nil, fmt.Errorf("wait for module %s: %w", digest, ctx.Err())
		}
	}
}

// loadForAll loads a module for every caller that waits for it. If it fails because ctx of
// this caller has ended, another caller tries again.
func (s *Store) loadForAll(ctx context.Context, digest string, m *leased) (*sandbox.Module, error) {
	loaded, err := s.load(ctx, digest, m)
	s.mu.Lock()
	m.module, m.err, m.cancelled, m.sources = loaded, err, err != nil && ctx.Err() != nil, nil
	if err != nil {
		s.forget(digest, m)
	}
	s.mu.Unlock()
	close(m.ready)
	return loaded, err
}

// forget makes the next caller load the module again. The caller holds mu.
func (s *Store) forget(digest string, m *leased) {
	if s.modules[digest] == m {
		delete(s.modules, digest)
	}
}

// release ends a lease.
func (s *Store) release(digest string) {
	s.mu.Lock()
	m := s.modules[digest]
	s.mu.Unlock()
	if m != nil {
		s.releaseModule(digest, m)
	}
}

// releaseModule ends a lease of m. The last one closes the module. While m is being
// loaded, or after that has failed, there is nothing to close.
func (s *Store) releaseModule(digest string, m *leased) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if m.leases--; m.leases > 0 || m.module == nil {
		return
	}
	m.module.Close()
	s.forget(digest, m)
}

// FetchError reports that this server does not have a module and could not fetch it.
// A later attempt may succeed.
type FetchError struct{ err error }

// Error returns the text of the cause.
func (e *FetchError) Error() string { return e.err.Error() }

// Unwrap returns the cause.
func (e *FetchError) Unwrap() error { return e.err }

// load compiles a module from the disk, a file of the catalog or another server.
func (s *Store) load(ctx context.Context, digest string, m *leased) (*sandbox.Module, error) {
	compiled, err := s.compile(ctx, digest)
	unsigned := errors.Is(err, signature.ErrUnsigned) // another place may have it with a signature
	if !unsigned && !errors.Is(err, module.ErrNotFound) && !errors.Is(err, module.ErrDamaged) {
		return compiled, err
	}
	if !s.current().storeFrom(ctx, digest) {
		if fault := s.fetch(ctx, digest, m); fault != nil && unsigned {
			return nil, &FetchError{fmt.Errorf("%w; %w", err, fault)}
		} else if fault != nil {
			return nil, &FetchError{fault}
		}
	}
	return s.compile(ctx, digest)
}

// compile compiles a module from the disk.
func (s *Store) compile(ctx context.Context, digest string) (*sandbox.Module, error) {
	size, err := s.disk.Size(digest)
	if err != nil {
		return nil, err
	}
	read := func() ([]byte, error) { return s.disk.Get(digest) }
	return s.engine.LoadFrom(ctx, sandbox.Source{Digest: digest, Size: size, Read: read})
}

// fetch stores the module from a peer of one of the waiting callers. It asks no address
// twice.
func (s *Store) fetch(ctx context.Context, digest string, m *leased) error {
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	asked := map[string]bool{}
	var faults []error
	for {
		peers := s.nextPeers(digest, m)
		if peers == nil {
			break
		}
		addresses, err := peers(ctx)
		if err != nil {
			faults = append(faults, fmt.Errorf("module %s: find a server that offers it: %w", digest, err))
			continue
		}
		addresses = slices.DeleteFunc(addresses, func(a string) bool { return asked[a] })
		if len(addresses) == 0 {
			continue
		}
		for _, a := range addresses {
			asked[a] = true
		}
		if err = s.client.Fetch(ctx, digest, addresses); err == nil {
			return nil
		}
		faults = append(faults, err)
	}
	if len(faults) == 0 {
		return s.client.Fetch(ctx, digest, nil) // returns peer.ErrNoPeer
	}
	return errors.Join(faults...)
}

// nextPeers returns the peers of the next waiting caller, or nil after the last one. From
// then on a caller that wants the module loads it again, because its peers would not be
// asked.
func (s *Store) nextPeers(digest string, m *leased) Peers {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(m.sources) == 0 {
		s.forget(digest, m)
		return nil
	}
	next := m.sources[0]
	m.sources = m.sources[1:]
	return next
}
