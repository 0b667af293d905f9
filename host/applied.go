package host

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/wasmjob/wasmjob/host/internal/definition"
)

// applied is what this server's own file said of its jobs when it was applied
// last. It outlives the process in the data directory, as no other server has a
// use for it. If it is lost, the file counts as new. The loops of the jobs, which
// must end in time what they may not go on with, never wait for the disk: it is
// read before they begin, and written beside them.
type applied struct {
	dir       string // empty: there is no data directory
	namespace string
	log       *slog.Logger
	wake      chan struct{} // there is something to write

	mu        sync.Mutex        // guards what follows
	said      map[string]string // by job
	unwritten map[string]bool   // jobs of which the disk does not know it
}

// readApplied reads what is kept of the jobs of the server's own file.
func readApplied(o *Options) *applied {
	a := &applied{namespace: o.Namespace, log: o.Log, wake: make(chan struct{}, 1), said: map[string]string{}, unwritten: map[string]bool{}}
	if o.DataDir == "" {
		return a
	}
	a.dir = filepath.Join(o.DataDir, "applied")
	for _, c := range o.Jobs {
		a.read(c.Name)
	}
	return a
}

// read reads what is kept of a job that is about to begin. What was not written yet
// of an earlier one is newer.
func (a *applied) read(job string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.dir == "" || a.unwritten[job] {
		return
	}
	text, err := os.ReadFile(a.path(job))
	switch {
	case err == nil:
		a.said[job] = string(text)
	case !errors.Is(err, fs.ErrNotExist):
		a.forgotten(job, err)
	}
}

// path is of a file whose name is a digest, as a job's name need not be a file's.
func (a *applied) path(job string) string {
	sum := sha256.Sum256([]byte(a.namespace + "\n" + job))
	return filepath.Join(a.dir, hex.EncodeToString(sum[:16])+".json")
}

// recall gives a job's definition what its file said before.
func (a *applied) recall(job string, d *definition.Definition) {
	a.mu.Lock()
	said := a.said[job]
	a.mu.Unlock()
	if said == "" {
		return
	}
	if err := d.Recall([]byte(said)); err != nil {
		a.forgotten(job, err)
	}
}

func (a *applied) forgotten(job string, err error) {
	a.log.Warn("what this server's file said of the job before cannot be read, so it counts as new", "job", job, "path", a.path(job), "error", err)
}

// keep remembers what the file says now.
func (a *applied) keep(job string, said []byte) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.dir == "" || a.said[job] == string(said) {
		return
	}
	a.said[job] = string(said)
	a.unwritten[job] = true
	select {
	case a.wake <- struct{}{}:
	default:
	}
}

// appliedAgain is how long what could not be written waits for the next try.
const appliedAgain = time.Minute

// run writes what is kept, until ctx ends and all of it was tried once more.
func (a *applied) run(ctx context.Context) {
	again := time.NewTicker(appliedAgain)
	defer again.Stop()
	for {
		select {
		case <-a.wake:
			a.flush()
		case <-again.C:
			a.flush()
		case <-ctx.Done():
			a.flush()
			return
		}
	}
}

// flush tries each job once.
func (a *applied) flush() {
	a.mu.Lock()
	jobs := slices.Sorted(maps.Keys(a.unwritten))
	a.mu.Unlock()
	for _, job := range jobs {
		a.mu.Lock()
		said := a.said[job]
		delete(a.unwritten, job)
		a.mu.Unlock()
		if err := a.write(job, said); err != nil {
			a.log.Warn("what this server's file says of the job cannot be kept, so it counts as new at the next start; it is tried again", "job", job, "error", err)
			a.mu.Lock()
			a.unwritten[job] = true
			a.mu.Unlock()
		}
	}
}

// write replaces the file in one step. It is not synced: what a power cut takes
// counts as new.
func (a *applied) write(job, said string) error {
	if err := os.MkdirAll(a.dir, 0o700); err != nil {
		return fmt.Errorf("make its directory: %w", err)
	}
	path := a.path(job)
	if err := os.WriteFile(path+".new", []byte(said), 0o600); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}
