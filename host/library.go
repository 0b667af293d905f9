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

	"github.com/wasmjob/wasmjob/host/internal/module"
	"github.com/wasmjob/wasmjob/host/internal/peer"
	"github.com/wasmjob/wasmjob/host/internal/sandbox"
	"github.com/wasmjob/wasmjob/host/job"
)

// maxModule bounds the bytes of one module.
const maxModule = 64 << 20

// library has the modules of this server by digest: those that jobs hold are
// compiled, once, and others may have their bytes.
type library struct {
	o      *Options
	store  *module.Store
	engine *sandbox.Engine
	client *peer.Client

	mu    sync.Mutex // guards what follows
	held  map[string]*compiled
	names map[string]named
}

// compiled is a module that somebody holds, or waits for.
type compiled struct {
	ready  chan struct{} // closed when what follows is final
	module *sandbox.Module
	err    error
	users  int // guarded by the library
}

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
	engine, err := sandbox.New(sandbox.Options{CacheDir: filepath.Join(o.DataDir, "cache"), MaxModule: maxModule, Budget: o.Memory, Dirs: o.dirs(), Log: o.Log})
	if err != nil {
		return nil, failf(Internal, err, "sandbox")
	}
	l := &library{o: o, store: store, engine: engine, held: map[string]*compiled{}, names: map[string]named{}}
	l.client = peer.NewClient(peer.ClientOptions{Token: o.Peers.Token, Store: store, Limit: maxModule, Log: o.Log})
	return l, nil
}

// dirs are the directories from which the sandbox opens what is granted. An
// embedder that grants directories without a ceiling has none.
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
	l.mu.Unlock()
	if known {
		return n.digest, n.err
	}
	m, ok := l.o.Modules[name]
	if n.err = fmt.Errorf("this server has no module %q", name); ok {
		if n.digest, _, n.err = l.store.LoadSource("file:"+m.Path, m.SHA256, "", maxModule); n.err != nil {
			n.err = fmt.Errorf("module %s: %w", name, n.err)
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.names[name] = n
	return n.digest, n.err
}

// digest is that of a module of the server's own file, as far as it can be told:
// if the file is not there, by what it must have; else empty.
func (l *library) digest(name string) string {
	digest, err := l.name(name)
	if err == nil {
		return digest
	}
	pin := strings.TrimPrefix(l.o.Modules[name].SHA256, "sha256:")
	if module.CheckDigest(pin) != nil {
		return ""
	}
	return pin
}

// take gives the module with the digest, compiled. peers are asked for it if it
// is not here; they may be nil. Whoever takes a module gives it back.
func (l *library) take(ctx context.Context, digest string, peers func(context.Context) ([]string, error)) (*sandbox.Module, error) {
	for {
		l.mu.Lock()
		c, known := l.held[digest]
		if !known {
			c = &compiled{ready: make(chan struct{})}
			l.held[digest] = c
		}
		c.users++
		l.mu.Unlock()
		if !known {
			c.module, c.err = l.load(ctx, digest, peers)
			if c.err != nil {
				l.mu.Lock()
				delete(l.held, digest) // the next one tries again
				l.mu.Unlock()
			}
			close(c.ready)
			return c.module, c.err
		}
		select {
		case <-c.ready:
		case <-ctx.Done():
			l.giveBack(digest, c)
			return nil, fmt.Errorf("wait for module %s: %w", digest, ctx.Err())
		}
		if c.err == nil || !errors.Is(c.err, context.Canceled) && !errors.Is(c.err, context.DeadlineExceeded) {
			return c.module, c.err
		}
		if ctx.Err() != nil {
			return nil, fmt.Errorf("wait for module %s: %w", digest, ctx.Err())
		} // it was the other one who could not wait
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
	if l.held[digest] == c {
		delete(l.held, digest)
	}
}

// fetchError is that a module is not here and could not be had from elsewhere:
// another time it may.
type fetchError struct{ err error }

func (e *fetchError) Error() string { return e.err.Error() }
func (e *fetchError) Unwrap() error { return e.err }

// load finds the bytes of a module, here or elsewhere, and compiles them.
func (l *library) load(ctx context.Context, digest string, peers func(context.Context) ([]string, error)) (*sandbox.Module, error) {
	wasm, err := l.store.Get(digest)
	if errors.Is(err, module.ErrNotFound) || errors.Is(err, module.ErrDamaged) {
		wasm, err = l.find(ctx, digest, peers)
	}
	if err != nil {
		return nil, err
	}
	return l.engine.Load(ctx, wasm)
}

// find looks for a module that the store lacks: in the files that the server's
// configuration names, then at other servers.
func (l *library) find(ctx context.Context, digest string, peers func(context.Context) ([]string, error)) ([]byte, error) {
	for _, name := range slices.Sorted(maps.Keys(l.o.Modules)) {
		if m := l.o.Modules[name]; m.SHA256 == "" || m.SHA256 == digest {
			if got, wasm, err := l.store.LoadSource("file:"+m.Path, m.SHA256, "", maxModule); err == nil && got == digest {
				return wasm, nil
			}
		}
	}
	var addresses []string
	if peers != nil {
		var err error
		if addresses, err = peers(ctx); err != nil {
			return nil, &fetchError{fmt.Errorf("module %s: ask who offers it: %w", digest, err)}
		}
	}
	if err := l.client.Fetch(ctx, digest, addresses); err != nil {
		return nil, &fetchError{err}
	}
	return l.store.Get(digest)
}

// shelf is what other servers may have: the modules that jobs hold here.
type shelf struct{ *library }

// Open is part of peer.Shelf.
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
