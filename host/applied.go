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

// applied stores, for each job of this server's own file, the definition that was last applied.
// A changed file is compared with it, to find which values the file has changed. It is in the
// data directory, since no other server needs it. If it is lost, the file counts as new. The
// loops of the jobs must end runs in time and so never wait for the disk: the stored definitions
// are read before the jobs begin, and written by another goroutine.
type applied struct {
	dir       string // empty if there is no data directory; then nothing is stored
	namespace string
	log       *slog.Logger
	wake      chan struct{} // signals that there is something to write

	mu          sync.Mutex        // guards the fields below
	definitions map[string]string // by job
	unwritten   map[string]bool   // jobs whose definition is not on disk yet
}

// readApplied reads the stored definitions of the jobs in the server's own file.
func readApplied(o *Options) *applied {
	a := &applied{namespace: o.Namespace, log: o.Log, wake: make(chan struct{}, 1), definitions: map[string]string{}, unwritten: map[string]bool{}}
	if o.DataDir == "" {
		return a
	}
	a.dir = filepath.Join(o.DataDir, "applied")
	for _, c := range o.Jobs {
		a.read(c.Name)
	}
	return a
}

// read reads the stored definition of a job that is about to begin, unless a newer one still
// waits to be written.
func (a *applied) read(job string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.dir == "" || a.unwritten[job] {
		return
	}
	text, err := os.ReadFile(a.path(job))
	switch {
	case err == nil:
		a.definitions[job] = string(text)
	case !errors.Is(err, fs.ErrNotExist):
		a.forgotten(job, err)
	}
}

// path returns the file for a job. Its name is a digest, because the name of a job may be no
// valid name of a file.
func (a *applied) path(job string) string {
	sum := sha256.Sum256([]byte(a.namespace + "\n" + job))
	return filepath.Join(a.dir, hex.EncodeToString(sum[:16])+".json")
}

// Applied returns the record in this server's data directory of how its own file defined the job
// when that was last applied; nil if there is none or it cannot be read, and the file counts as
// new.
func (o *Options) Applied(job string) []byte {
	if o.DataDir == "" {
		return nil
	}
	a := applied{dir: filepath.Join(o.DataDir, "applied"), namespace: o.Namespace}
	text, err := os.ReadFile(a.path(job))
	if err != nil {
		return nil
	}
	return text
}

// recall adds the stored definition of a job to d, its definition in this server's file, so that
// d shows which values have changed since.
func (a *applied) recall(job string, d *definition.Definition) {
	a.mu.Lock()
	definition := a.definitions[job]
	a.mu.Unlock()
	if definition == "" {
		return
	}
	if err := d.Recall([]byte(definition)); err != nil {
		a.forgotten(job, err)
	}
}

// forgotten warns that the stored definition of a job cannot be used because of err.
func (a *applied) forgotten(job string, err error) {
	a.log.Warn("the definition of the job that was applied last cannot be read, so the one in this server's file counts as new", "job", job, "path", a.path(job), "error", err)
}

// keep remembers a definition that has just been applied. run writes it to the disk.
func (a *applied) keep(job string, definition []byte) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.dir == "" || a.definitions[job] == string(definition) {
		return
	}
	a.definitions[job] = string(definition)
	a.unwritten[job] = true
	select {
	case a.wake <- struct{}{}:
	default: // run is to wake already
	}
}

// appliedAgain is the time between two attempts to write.
const appliedAgain = time.Minute

// run writes new definitions until ctx ends, and then once more. The ticker repeats writes that
// have failed.
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

// flush tries once to write each unwritten definition.
func (a *applied) flush() {
	a.mu.Lock()
	jobs := slices.Sorted(maps.Keys(a.unwritten))
	a.mu.Unlock()
	for _, job := range jobs {
		a.mu.Lock()
		definition := a.definitions[job]
		delete(a.unwritten, job) // before the write, so that a definition that keep gets meanwhile is written next
		a.mu.Unlock()
		if err := a.write(job, definition); err != nil {
			a.log.Warn("the applied definition of the job cannot be stored, so the one in this server's file would count as new at the next start; trying again", "job", job, "error", err)
			a.mu.Lock()
			a.unwritten[job] = true
			a.mu.Unlock()
		}
	}
}

// write replaces the file atomically. It does not sync: if a power cut loses the definition,
// the file counts as new.
func (a *applied) write(job, definition string) error {
	if err := os.MkdirAll(a.dir, 0o700); err != nil {
		return fmt.Errorf("create its directory: %w", err)
	}
	path := a.path(job)
	if err := os.WriteFile(path+".new", []byte(definition), 0o600); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}
