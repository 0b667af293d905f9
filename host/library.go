package host

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/wasmjob/wasmjob/host/internal/module"
	"github.com/wasmjob/wasmjob/host/internal/peer"
	"github.com/wasmjob/wasmjob/host/internal/sandbox"
	"github.com/wasmjob/wasmjob/host/job"
)

// fetchTimeout is how long all peers together may take that are asked for one
// module.
const fetchTimeout = 3 * time.Minute

// library has the modules of this server by digest: those that jobs hold are
// compiled, once, and others may have their bytes.
type library struct {
	o      *Options
	store  *module.Store
	engine *sandbox.Engine
	client *peer.Client

	mu      sync.Mutex // guards what follows
	held    map[string]*compiled
	modules map[string]Module // of the server's own file; replaced as a whole
	names   map[string]named  // of those, as far as they were read
}

// compiled is a module that somebody holds, or waits for.
type compiled struct {
	ready chan struct{} // closed when module, err and gaveUp are final

	// Guarded by the library's mu:

	module *sandbox.Module
	err    error
	gaveUp bool // whoever loaded it could not wait
	users  int
	ask    []offers // of those who wait for it, as far as they were not asked
}

// offers tells the addresses where the members of a job offer modules.
type offers func(context.Context) ([]string, error)

// named is what the server's own file calls a module.
type named struct {
	digest string
	err    error
}

func openLibrary(o *Options) (*library, error) {
	store, err := module.Open(filepath.Join(o.DataDir, "modules"))
	if err != nil {
		return nil, failf(Internal, err, "data directory %s", o.DataDir)
	}
	engine, err := sandbox.New(sandbox.Options{
		CacheDir: cacheDir(o.DataDir), Compiler: o.Compiler, Refused: o.refusedModule,
		MaxModule: module.MaxSize, Budget: o.Memory, Dirs: o.dirs(), Private: o.private(), Log: o.Log,
	})
	if err != nil {
		return nil, failf(Internal, err, "sandbox")
	}
	l := &library{o: o, store: store, engine: engine, held: map[string]*compiled{}, modules: o.Modules, names: map[string]named{}}
	l.client = peer.NewClient(peer.ClientOptions{Token: o.Peers.Token, Store: store, Limit: module.MaxSize, Log: o.Log})
	return l, nil
}

// KeepModule puts a module into the store of the server whose data directory is
// dir, which may run meanwhile; no job runs it by that. Bytes that do not have
// the digest are refused, and so are more than a module may have.
func KeepModule(dir string, r io.Reader, digest string) error {
	store, err := module.Open(filepath.Join(dir, "modules"))
	if err == nil {
		err = store.PutAs(r, digest, module.MaxSize)
	}
	switch {
	case errors.Is(err, module.ErrPin), errors.Is(err, module.ErrTooBig), module.CheckDigest(digest) != nil:
		return failf(Invalid, err, "keep a module")
	case err != nil:
		return failf(Internal, err, "keep a module in %s", dir)
	}
	return nil
}

// dirs are the directories from which the sandbox opens what is granted. An
// embedder that grants directories without limits has none.
func (o *Options) dirs() []job.Dir {
	granted := slices.ContainsFunc(o.Jobs, func(c job.Config) bool { return len(c.Allow.Dirs) > 0 })
	if len(o.Allow.Dirs) == 0 && granted {
		return nil
	}
	dirs := make([]job.Dir, len(o.Allow.Dirs)) // not nil: that would be any
	for i, t := range o.Allow.Dirs {
		dirs[i] = job.Dir{Host: t.Path, Write: t.Write}
	}
	return dirs
}

// name reads a module of the server's own file, once, and tells its digest.
func (l *library) name(name string) (digest string, err error) {
	l.mu.Lock()
	n, known := l.names[name]
	m, ok := l.modules[name]
	l.mu.Unlock()
	if known {
		return n.digest, n.err
	}
	if n.err = fmt.Errorf("this server has no module %q", name); ok {
		n = l.readFile(name, m)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.modules[name] == m { // nobody has read the configuration again meanwhile
		l.names[name] = n
	}
	return n.digest, n.err
}

// readFile puts a module into the store that a file has.
func (l *library) readFile(name string, m Module) (n named) {
	if n.digest, _, n.err = l.store.LoadSource("file:"+m.Path, m.SHA256, "", module.MaxSize); n.err != nil {
		n.err = fmt.Errorf("module %s: %w", name, n.err)
	}
	return n
}

// source is what the server's own file says of a module.
func (l *library) source(name string) (m Module, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	m, ok = l.modules[name]
	return m, ok
}

// known are the modules of the server's own file, and those that were read without
// fault.
func (l *library) known() (modules map[string]Module, names map[string]named) {
	l.mu.Lock()
	defer l.mu.Unlock()
	modules, names = map[string]Module{}, map[string]named{}
	maps.Copy(modules, l.modules)
	for name, n := range l.names {
		if n.err == nil {
			names[name] = n
		}
	}
	return modules, names
}

// replace puts other modules in the place of those of the server's own file, of
// which some were read already.
func (l *library) replace(modules map[string]Module, names map[string]named) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.modules, l.names = modules, names
}

// digest is that of a module of the server's own file, as far as it can be told:
// if the file is not there, by what it must have; else empty.
func (l *library) digest(name string) string {
	digest, err := l.name(name)
	if err == nil {
		return digest
	}
	m, _ := l.source(name)
	return m.pin()
}

// pin is the digest that a module must have; empty: any.
func (m Module) pin() string {
	pin := strings.TrimPrefix(m.SHA256, "sha256:")
	if module.CheckDigest(pin) != nil {
		return ""
	}
	return pin
}

// take gives the module with the digest, compiled. If it is not here, the peers
// of all who wait for it are asked; they may be nil. Whoever takes a module gives
// it back.
func (l *library) take(ctx context.Context, digest string, peers offers) (*sandbox.Module, error) {
	for {
		l.mu.Lock()
		c, known := l.held[digest]
		if !known {
			c = &compiled{ready: make(chan struct{})}
			l.held[digest] = c
		}
		c.users++
		if peers != nil && c.module == nil {
			c.ask = append(c.ask, peers)
		}
		l.mu.Unlock()
		if !known {
			return l.fill(ctx, digest, c)
		}
		select {
		case <-c.ready:
		case <-ctx.Done():
			l.giveBack(digest, c)
			return nil, fmt.Errorf("wait for module %s: %w", digest, ctx.Err())
		}
		if !c.gaveUp {
			return c.module, c.err
		}
		if ctx.Err() != nil {
			return nil, fmt.Errorf("wait for module %s: %w", digest, ctx.Err())
		}
	}
}

// fill loads a module for all who wait for it.
func (l *library) fill(ctx context.Context, digest string, c *compiled) (*sandbox.Module, error) {
	m, err := l.load(ctx, digest, c)
	l.mu.Lock()
	c.module, c.err, c.gaveUp, c.ask = m, err, err != nil && ctx.Err() != nil, nil
	if err != nil {
		l.drop(digest, c)
	}
	l.mu.Unlock()
	close(c.ready)
	return m, err
}

// drop has the next one who wants a module try anew. It is called with mu held.
func (l *library) drop(digest string, c *compiled) {
	if l.held[digest] == c {
		delete(l.held, digest)
	}
}

// give takes a module back that was taken.
func (l *library) give(digest string) {
	l.mu.Lock()
	c := l.held[digest]
	l.mu.Unlock()
	if c != nil {
		l.giveBack(digest, c)
	}
}

func (l *library) giveBack(digest string, c *compiled) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if c.users--; c.users > 0 || c.module == nil {
		return
	}
	c.module.Close()
	l.drop(digest, c)
}

// fetchError is that a module is not here and could not be had from elsewhere:
// another time it may.
type fetchError struct{ err error }

func (e *fetchError) Error() string { return e.err.Error() }
func (e *fetchError) Unwrap() error { return e.err }

// load compiles a module, whose bytes are here or elsewhere.
func (l *library) load(ctx context.Context, digest string, c *compiled) (*sandbox.Module, error) {
	m, err := l.compile(ctx, digest)
	if !errors.Is(err, module.ErrNotFound) && !errors.Is(err, module.ErrDamaged) {
		return m, err
	}
	if !l.has(digest) {
		if err := l.fetch(ctx, digest, c); err != nil {
			return nil, &fetchError{err}
		}
	}
	return l.compile(ctx, digest)
}

// compile compiles a module of the store.
func (l *library) compile(ctx context.Context, digest string) (*sandbox.Module, error) {
	size, err := l.store.Size(digest)
	if err != nil {
		return nil, err
	}
	read := func() ([]byte, error) { return l.store.Get(digest) }
	return l.engine.LoadFrom(ctx, sandbox.Source{Digest: digest, Size: size, Read: read})
}

// has puts a module into the store if it is in one of the files that the server's
// configuration names.
func (l *library) has(digest string) bool {
	l.mu.Lock()
	modules := l.modules
	l.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(modules)) {
		if m := modules[name]; m.SHA256 == "" || m.SHA256 == digest {
			if got, _, err := l.store.LoadSource("file:"+m.Path, m.SHA256, "", module.MaxSize); err == nil && got == digest {
				return true
			}
		}
	}
	return false
}

// fetch puts a module into the store that a peer has of somebody who waits for
// it. No peer is asked twice.
func (l *library) fetch(ctx context.Context, digest string, c *compiled) error {
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	asked := map[string]bool{}
	var faults []error
	for {
		peers := l.nextOffers(digest, c)
		if peers == nil {
			break
		}
		addresses, err := peers(ctx)
		if err != nil {
			faults = append(faults, fmt.Errorf("module %s: ask who offers it: %w", digest, err))
			continue
		}
		addresses = slices.DeleteFunc(addresses, func(a string) bool { return asked[a] })
		if len(addresses) == 0 {
			continue
		}
		for _, a := range addresses {
			asked[a] = true
		}
		if err = l.client.Fetch(ctx, digest, addresses); err == nil {
			return nil
		}
		faults = append(faults, err)
	}
	if len(faults) == 0 {
		return l.client.Fetch(ctx, digest, nil) // which says that there is nobody
	}
	return errors.Join(faults...)
}

// nextOffers gives the peers of somebody who waits for a module; nil if all were
// asked. Whoever wants it from then on tries anew.
func (l *library) nextOffers(digest string, c *compiled) offers {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(c.ask) == 0 {
		l.drop(digest, c)
		return nil
	}
	peers := c.ask[0]
	c.ask = c.ask[1:]
	return peers
}

// shelf is what other servers may have: the modules that jobs hold here.
type shelf struct{ *library }

// Open implements peer.ModuleReader.
func (s shelf) Open(digest string) (io.ReadCloser, int64, error) {
	s.mu.Lock()
	c := s.held[digest]
	s.mu.Unlock()
	if c == nil {
		return nil, 0, fmt.Errorf("%w: no job holds module %s", module.ErrNotFound, digest)
	}
	return s.store.Open(digest)
}

func (l *library) close() error {
	l.client.Close()
	l.mu.Lock()
	for _, c := range l.held {
		if c.module != nil {
			c.module.Close()
		}
	}
	l.mu.Unlock()
	if err := l.engine.Close(); err != nil && !errors.Is(err, sandbox.ErrClosed) {
		return fmt.Errorf("close the sandbox: %w", err)
	}
	return nil
}
