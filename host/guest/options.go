package guest

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/internal/lockfile"
	"github.com/wasmjob/wasmjob/host/internal/module"
	"github.com/wasmjob/wasmjob/host/internal/sandbox"
	"github.com/wasmjob/wasmjob/host/job"
)

// Options limit a module that runs outside of any server. The zero value is useful.
type Options struct {
	// CacheDir is where compiled code of recently used modules is stored between calls. Several
	// processes may share it. It is created with mode 0700. If it is empty, compiled code is
	// kept in memory only.
	CacheDir string
	// Note receives the reason why CacheDir cannot be used; nil discards it.
	Note func(error)
	// PrivateHosts are names, or patterns "*.name", of hosts on this machine or in a private
	// network that granted requests may reach anyway.
	PrivateHosts []string
	// ReadOnly denies requests other than GET and HEAD, and makes granted directories
	// read-only.
	ReadOnly bool
}

// maxCached is the number of modules whose compiled code CacheDir keeps.
const maxCached = 16

// engine creates a sandbox for a module. Call free after closing it. If the cache cannot be
// used, the sandbox compiles in memory, which takes longer.
func (o Options) engine(wasm []byte) (e *sandbox.Engine, free func(), err error) {
	free = func() {}
	if o.CacheDir != "" {
		sum := sha256.Sum256(wasm)
		dir, unlock, err := takeCache(o.CacheDir, hex.EncodeToString(sum[:]))
		if err == nil {
			if e, err = o.cachingEngine(dir); err == nil {
				return e, unlock, nil
			}
			unlock()
		}
		if o.Note != nil && !errors.Is(err, lockfile.ErrTaken) { // another process may well use the same module
			o.Note(fmt.Errorf("compiled code is not kept: %w", err))
		}
	}
	e, err = sandbox.New(sandbox.Options{})
	return e, free, err
}

// cachingEngine creates a sandbox that stores compiled code in dir. Code from there runs
// unchecked, so no guest may write there.
func (o Options) cachingEngine(dir string) (*sandbox.Engine, error) {
	top, err := filepath.Abs(o.CacheDir)
	if err != nil {
		return nil, fmt.Errorf("look for the cache: %w", err)
	}
	private := []job.Private{{Path: top, What: "the cache of compiled code", Readable: true}}
	return sandbox.New(sandbox.Options{CacheDir: dir, Private: private})
}

// takeCache locks the directory with the compiled code of one module for this process,
// and removes the directories of the least recently used modules.
func takeCache(top, digest string) (dir string, unlock func(), err error) {
	own := filepath.Join(top, digest)
	dir = filepath.Join(own, "code")
	if err := os.MkdirAll(own, 0o700); err != nil { //nolint:gosec // a directory of the caller's choice
		return "", nil, err
	}
	lock, err := lockfile.Take(filepath.Join(own, "lock"))
	if err != nil {
		return "", nil, err
	}
	now := time.Now()
	err = os.Chtimes(own, now, now)
	if err == nil {
		err = removeOldest(top)
	}
	if err != nil {
		return "", nil, errors.Join(err, lock.Close())
	}
	return dir, func() { _ = lock.Close() }, nil // closing the file releases the lock
}

// removeOldest removes the least recently used directories beyond maxCached.
func removeOldest(top string) error {
	entries, err := os.ReadDir(top)
	if err != nil {
		return err
	}
	entries = slices.DeleteFunc(entries, func(e fs.DirEntry) bool { return !e.IsDir() })
	if len(entries) <= maxCached {
		return nil
	}
	used := map[string]time.Time{}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if err == nil {
			used[e.Name()] = info.ModTime()
		}
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int {
		return cmp.Or(used[b.Name()].Compare(used[a.Name()]), cmp.Compare(a.Name(), b.Name()))
	})
	for _, e := range entries[maxCached:] {
		// Only the process that has the lock may use the directory, or remove it.
		lock, err := lockfile.Take(filepath.Join(top, e.Name(), "lock"))
		if errors.Is(err, lockfile.ErrTaken) || errors.Is(err, fs.ErrNotExist) {
			continue // in use, or already removed by another process
		}
		if err == nil {
			err = errors.Join(os.RemoveAll(filepath.Join(top, e.Name())), lock.Close())
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// readOnly denies requests that may change something on a remote host.
type readOnly struct{ job.HTTP }

// Do implements job.HTTP.
func (h readOnly) Do(ctx context.Context, r job.HTTPRequest) (*job.HTTPResponse, error) {
	if r.Method != "GET" && r.Method != "HEAD" {
		return nil, fmt.Errorf("%s of a run that may change nothing: %w", r.Method, job.ErrDenied)
	}
	return h.HTTP.Do(ctx, r)
}

// Stored returns the bytes of a module that the server of this data directory has run.
// digest is the module's SHA-256 in hex.
func Stored(dataDir, digest string) ([]byte, error) {
	s, err := module.Open(filepath.Join(dataDir, "modules"), nil)
	if err != nil {
		return nil, &host.Error{Code: host.Internal, Msg: "data directory " + dataDir, Err: err}
	}
	wasm, err := s.Get(digest)
	if err != nil {
		return nil, &host.Error{Code: host.NotFound, Msg: "modules of " + dataDir, Err: err}
	}
	return wasm, nil
}

// stoppable makes the end of ctx a request to stop. The guest of the call is asked to stop at
// once; hard, which ends the guest, ends after the grace period. Call done after the run.
func stoppable(ctx context.Context, c *job.Call) (hard context.Context, done func()) {
	grace := c.Config.Limits.Grace
	if grace <= 0 {
		grace = sandbox.DefaultGrace
	}
	hard, end := context.WithCancel(context.WithoutCancel(ctx))
	c.Why = func() job.StopReason {
		if ctx.Err() != nil {
			return job.StopShutdown
		}
		return job.Continue
	}
	over := make(chan struct{})
	unwatch := context.AfterFunc(ctx, func() {
		defer close(over)
		wait := time.NewTimer(grace)
		defer wait.Stop()
		select {
		case <-wait.C:
			end()
		case <-hard.Done():
		}
	})
	return hard, func() {
		end()
		if !unwatch() { // ctx has ended: wait for the function that watches the grace period
			<-over
		}
	}
}
