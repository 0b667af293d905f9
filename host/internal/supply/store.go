package supply

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/wasmjob/wasmjob/host/internal/module"
	"github.com/wasmjob/wasmjob/host/internal/native"
	"github.com/wasmjob/wasmjob/host/internal/peer"
	"github.com/wasmjob/wasmjob/host/internal/sandbox"
	"github.com/wasmjob/wasmjob/host/job"
)

// fetchTimeout is how long all peers together may take that are asked for one
// module.
const fetchTimeout = 3 * time.Minute

// Options say what a library has to work with.
type Options struct {
	DataDir string          // of the server; empty: the store has no modules
	Files   map[string]File // the modules of the server's own file, by the name that jobs use
	// Runner runs the code of all jobs; nil: the sandbox does, and native commands.
	Runner interface {
		Run(context.Context, job.Call) job.Outcome
	}
	Commands *native.Commands // nil: none can run

	Namespace    string            // what calls are told
	Secrets      map[string]string // what jobs may be granted by name
	PrivateHosts []string          // names that requests may reach in a private network

	Compiler []string // as for sandbox.Options, as are the next four
	Memory   int64
	Dirs     []job.Dir
	Private  []job.Private
	Refused  func(digest, why string)

	// Listen is the address on which other servers get modules; empty: nowhere. They
	// reach it by Address or, if that is empty, as Listen says with IP in the place of
	// an unspecified address. Token is shared by all servers.
	Listen, Address, IP, Token string

	// Refuse tells why this server must not run a job as it is now; file is the job in the
	// server's own file, nil if it is not there.
	Refuse func(j job.Config, file *job.Config) error
	Log    *slog.Logger
}

// Store has the modules of this server by digest: those that jobs hold are
// compiled, once, and others may have their bytes.
type Store struct {
	o      Options
	bytes  *module.Store   // nil: a Runner runs all jobs
	engine *sandbox.Engine // nil: as well
	client *peer.Client

	listener net.Listener // nil: other servers get no modules
	address  string

	mu    sync.Mutex // guards what follows
	held  map[string]*compiled
	files *Catalog // replaced as a whole
}

// compiled is a module that somebody holds, or waits for.
type compiled struct {
	ready chan struct{} // closed when module, err and gaveUp are final

	// Guarded by the library's mu:

	module *sandbox.Module
	err    error
	gaveUp bool // whoever loaded it could not wait
	users  int
	ask    []Peers // of those who wait for it, as far as they were not asked
}

// Peers tells the addresses where the members of a job offer modules.
type Peers func(context.Context) ([]string, error)

// Open opens the store of a server. The caller must close it.
func Open(o Options) (*Store, error) {
	l := &Store{o: o, held: map[string]*compiled{}, files: newCatalog(nil, o.Files)}
	if o.Runner != nil || o.DataDir == "" { // without a data directory no job comes that has a module
		return l, nil
	}
	dir := Dir(o.DataDir)
	var err error
	if l.bytes, err = dir.open(); err != nil {
		return nil, err
	}
	if l.engine, err = sandbox.New(sandbox.Options{
		CacheDir: dir.cache(), Compiler: o.Compiler, Refused: o.Refused,
		MaxModule: module.MaxSize, Budget: o.Memory, Dirs: o.Dirs, Private: o.Private, Log: o.Log,
	}); err != nil {
		return nil, fmt.Errorf("sandbox: %w", err)
	}
	l.files = newCatalog(l.bytes, o.Files)
	l.client = peer.NewClient(peer.ClientOptions{Token: o.Token, Store: l.bytes, Limit: module.MaxSize, Log: o.Log})
	return l, nil
}

// Catalog are the modules of the server's own file now; what becomes of it changes
// nothing here.
func (l *Store) Catalog() *Catalog { return l.current().clone() }

// NewCatalog is one of other modules, of which none was read yet.
func (l *Store) NewCatalog(files map[string]File) *Catalog { return newCatalog(l.bytes, files) }

// SetCatalog puts other modules in the place of those of the server's own file.
func (l *Store) SetCatalog(c *Catalog) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.files = c
}

func (l *Store) current() *Catalog {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.files
}

// Digest is that of a module of the server's own file, as far as it can be told.
func (l *Store) Digest(name string) string { return l.current().Expected(name) }

// File is what the server's own file says of a module.
func (l *Store) File(name string) (f File, ok bool) {
	f, ok = l.current().files[name]
	return f, ok
}

// Hold compiles a module, and holds it until release is called.
func (l *Store) Hold(ctx context.Context, digest string) (release func(), err error) {
	if _, err := l.take(ctx, digest, nil); err != nil {
		return nil, err
	}
	return func() { l.give(digest) }, nil
}

// take gives the module with the digest, compiled. If it is not here, the peers
// of all who wait for it are asked; from may be nil. Whoever takes a module gives
// it back.
func (l *Store) take(ctx context.Context, digest string, from Peers) (*sandbox.Module, error) {
	for {
		l.mu.Lock()
		c, known := l.held[digest]
		if !known {
			c = &compiled{ready: make(chan struct{})}
			l.held[digest] = c
		}
		c.users++
		if from != nil && c.module == nil {
			c.ask = append(c.ask, from)
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
func (l *Store) fill(ctx context.Context, digest string, c *compiled) (*sandbox.Module, error) {
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
func (l *Store) drop(digest string, c *compiled) {
	if l.held[digest] == c {
		delete(l.held, digest)
	}
}

// give takes a module back that was taken.
func (l *Store) give(digest string) {
	l.mu.Lock()
	c := l.held[digest]
	l.mu.Unlock()
	if c != nil {
		l.giveBack(digest, c)
	}
}

func (l *Store) giveBack(digest string, c *compiled) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if c.users--; c.users > 0 || c.module == nil {
		return
	}
	c.module.Close()
	l.drop(digest, c)
}

// FetchError is that a module is not here and could not be had from elsewhere:
// another time it may.
type FetchError struct{ err error }

func (e *FetchError) Error() string { return e.err.Error() }
func (e *FetchError) Unwrap() error { return e.err }

// load compiles a module, whose bytes are here or elsewhere.
func (l *Store) load(ctx context.Context, digest string, c *compiled) (*sandbox.Module, error) {
	m, err := l.compile(ctx, digest)
	if !errors.Is(err, module.ErrNotFound) && !errors.Is(err, module.ErrDamaged) {
		return m, err
	}
	if !l.current().has(digest) {
		if err := l.fetch(ctx, digest, c); err != nil {
			return nil, &FetchError{err}
		}
	}
	return l.compile(ctx, digest)
}

// compile compiles a module of the store.
func (l *Store) compile(ctx context.Context, digest string) (*sandbox.Module, error) {
	size, err := l.bytes.Size(digest)
	if err != nil {
		return nil, err
	}
	read := func() ([]byte, error) { return l.bytes.Get(digest) }
	return l.engine.LoadFrom(ctx, sandbox.Source{Digest: digest, Size: size, Read: read})
}

// fetch puts a module into the store that a peer has of somebody who waits for
// it. No peer is asked twice.
func (l *Store) fetch(ctx context.Context, digest string, c *compiled) error {
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	asked := map[string]bool{}
	var faults []error
	for {
		from := l.nextPeers(digest, c)
		if from == nil {
			break
		}
		addresses, err := from(ctx)
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

// nextPeers gives the peers of somebody who waits for a module; nil if all were
// asked. Whoever wants it from then on tries anew.
func (l *Store) nextPeers(digest string, c *compiled) Peers {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(c.ask) == 0 {
		l.drop(digest, c)
		return nil
	}
	next := c.ask[0]
	c.ask = c.ask[1:]
	return next
}

func (l *Store) Close() error {
	if l.engine == nil {
		return nil
	}
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
