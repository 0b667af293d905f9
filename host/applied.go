package host

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/wasmjob/wasmjob/host/internal/layout"
)

// applied is what this server's own file said of a job when it was applied last.
// It is in the data directory, as no other server has a use for it, and not in
// memory, as it is looked at when the job's definition changes. If it is lost, the
// file counts as new.
type applied struct {
	job  string
	path string // empty: there is no data directory
	log  *slog.Logger
}

func newApplied(o *Options, job string) *applied {
	a := &applied{job: job, log: o.Log}
	if o.DataDir != "" {
		sum := sha256.Sum256([]byte(o.Namespace + "\n" + job)) // a job's name need not be a file's
		a.path = filepath.Join(o.DataDir, "applied", hex.EncodeToString(sum[:16])+".json")
	}
	return a
}

// recall gives a definition what its file said before.
func (a *applied) recall(d *layout.Definition) {
	text, err := a.read()
	if err == nil && text != nil {
		err = d.Recall(text)
	}
	if err != nil {
		a.log.Warn("what this server's file said of the job before cannot be read, so it counts as new", "job", a.job, "path", a.path, "error", err)
	}
}

// keep remembers what the file says now.
func (a *applied) keep(said []byte) {
	if old, err := a.read(); a.path == "" || err == nil && bytes.Equal(old, said) {
		return
	}
	if err := a.write(said); err != nil {
		a.log.Warn("what this server's file says of the job cannot be kept, so it counts as new at the next start", "job", a.job, "error", err)
	}
}

// read gives nil if nothing is there.
func (a *applied) read() ([]byte, error) {
	if a.path == "" {
		return nil, nil
	}
	text, err := os.ReadFile(a.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return text, err
}

// write replaces the file in one step. It is not synced: what a power cut takes
// counts as new.
func (a *applied) write(said []byte) error {
	if err := os.MkdirAll(filepath.Dir(a.path), 0o700); err != nil {
		return fmt.Errorf("make its directory: %w", err)
	}
	if err := os.WriteFile(a.path+".new", said, 0o600); err != nil {
		return err
	}
	return os.Rename(a.path+".new", a.path)
}
