package supply

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/wasmjob/wasmjob/host/internal/module"
	"github.com/wasmjob/wasmjob/host/internal/native"
	"github.com/wasmjob/wasmjob/host/internal/peer"
	"github.com/wasmjob/wasmjob/host/internal/sandbox"
	"github.com/wasmjob/wasmjob/host/internal/signature"
	"github.com/wasmjob/wasmjob/host/job"
)

// Options configure a Store.
type Options struct {
	// DataDir is the server's data directory. If it is empty, or Runner is set, the store
	// has no modules.
	DataDir string
	// Files are the modules of the server's configuration, by the names that jobs use.
	Files map[string]File
	// Pull fetches artifacts; nil if there are none.
	Pull Pull
	// Keys may sign modules. If there are any, a module that none of them has signed is
	// not loaded.
	Keys signature.Keys
	// Runner runs the code of all jobs. If nil, jobs are modules and native commands.
	Runner interface {
		Run(context.Context, job.Call) job.Outcome
	}
	Commands *native.Commands // nil if there are no native commands

	Namespace    string            // set in every call
	Secrets      map[string]string // secrets that jobs may be granted, by name
	PrivateHosts []string          // hosts in private networks that granted requests may reach

	// These are options of the sandbox; see sandbox.Options.
	Compiler []string
	Memory   int64 // its Budget
	Dirs     []job.Dir
	Private  []job.Private
	Refused  func(digest, why string)
	Compiled func(digest string, took time.Duration)

	// Listen is the address at which this server sends modules to others; empty if it
	// sends none. Others reach it at Address. If Address is empty, they use the address
	// of Listen, with IP in place of an unspecified one. All servers share Token.
	Listen, Address, IP, Token string

	// Refuse returns why this server must not run a job with the configuration j, or
	// nil. file is the job in the server's own file, nil if the file does not have it.
	Refuse func(j job.Config, file *job.Config) error
	Log    *slog.Logger
}

// Store holds the modules of a server. It compiles a module once for all jobs, and
// closes it when the last job has released it. Its methods are safe for concurrent
// use; Listen comes before Serve and Address.
type Store struct {
	o      Options
	disk   *module.Store // nil without modules, as are the next two
	engine *sandbox.Engine
	client *peer.Client

	listener net.Listener // nil if other servers get no modules
	address  string

	mu      sync.Mutex         // guards the fields below
	modules map[string]*leased // by digest
	catalog *Catalog           // replaced as a whole, not changed
}

// Open opens the store of a server. The caller must close it.
func Open(o Options) (*Store, error) {
	s := &Store{o: o, modules: map[string]*leased{}, catalog: newCatalog(nil, o.Files, nil)}
	if o.Runner != nil || o.DataDir == "" {
		return s, nil
	}
	dir := Dir(o.DataDir)
	var err error
	if s.disk, err = dir.open(o.Keys); err != nil {
		return nil, err
	}
	if s.engine, err = sandbox.New(sandbox.Options{
		CacheDir: dir.cache(), Compiler: o.Compiler, Refused: o.Refused, Compiled: o.Compiled,
		MaxModule: module.MaxSize, Budget: o.Memory, Dirs: o.Dirs, Private: o.Private, Log: o.Log,
	}); err != nil {
		return nil, fmt.Errorf("sandbox: %w", err)
	}
	s.catalog = newCatalog(s.disk, o.Files, o.Pull)
	s.client = peer.NewClient(peer.ClientOptions{Token: o.Token, Store: s.disk, Limit: module.MaxSize, Log: o.Log})
	return s, nil
}

// Close closes the sandbox with every module, and the address of Listen. No Code of the store
// may run after it.
func (s *Store) Close() error {
	if s.engine == nil {
		return nil
	}
	s.client.Close()
	if s.listener != nil {
		_ = s.listener.Close() // Serve has closed it, unless no job could run
	}
	s.mu.Lock()
	for _, m := range s.modules {
		if m.module != nil {
			m.module.Close()
		}
	}
	s.mu.Unlock()
	if err := s.engine.Close(); err != nil && !errors.Is(err, sandbox.ErrClosed) {
		return fmt.Errorf("close the sandbox: %w", err)
	}
	return nil
}

// GuestMemory returns the memory of the sandbox's guests; 0 if there is no sandbox.
func (s *Store) GuestMemory() (used, limit uint64) {
	if s.engine == nil {
		return 0, 0
	}
	return s.engine.GuestMemory()
}

// Catalog returns a copy of the current catalog, for use with SetCatalog.
func (s *Store) Catalog() *Catalog { return s.current().clone() }

// NewCatalog returns a catalog of other files, none of which has been read.
func (s *Store) NewCatalog(files map[string]File) *Catalog {
	return newCatalog(s.disk, files, s.o.Pull)
}

// SetCatalog replaces the catalog. The caller must not change c afterwards.
func (s *Store) SetCatalog(c *Catalog) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.catalog = c
}

// current returns the catalog that is in use. It is not changed, but may be replaced
// later.
func (s *Store) current() *Catalog {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.catalog
}

// Digest calls Expected of the current catalog.
func (s *Store) Digest(ctx context.Context, name string) string {
	return s.current().Expected(ctx, name)
}

// File returns the source of a module in the current catalog.
func (s *Store) File(name string) (f File, ok bool) {
	f, ok = s.current().files[name]
	return f, ok
}

// Hold compiles a module and keeps it compiled until release is called. It does not ask
// other servers.
func (s *Store) Hold(ctx context.Context, digest string) (release func(), err error) {
	if _, err := s.lease(ctx, digest, nil); err != nil {
		return nil, err
	}
	return func() { s.release(digest) }, nil // the caller needs the lease, not the module
}
