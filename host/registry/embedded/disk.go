package embedded

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// disk is the directory of one registry. Tests replace it to inject faults.
//
//nolint:interfacebloat // the journal needs all of this from a file system
type disk interface {
	// path returns the full name of a file, for messages.
	path(name string) string
	list() ([]string, error)
	read(name string) ([]byte, error)
	// create creates an empty file for appending.
	create(name string) (file, error)
	rename(from, to string) error
	remove(name string) error
	// sync makes creations, renames and removals durable.
	sync() error
	// close releases the directory.
	close() error
}

// file is a file that is only appended to.
type file interface {
	Write(b []byte) (int, error)
	// Sync makes the contents durable.
	Sync() error
	Truncate(size int64) error
	Close() error
}

// dir is a directory of the real file system.
type dir struct {
	name string
	lock *os.File
}

const lockName = "LOCK"

// openDir locks a directory, which it creates if necessary, so that no other process uses it.
func openDir(name string) (*dir, error) {
	if _, err := os.Stat(name); errors.Is(err, fs.ErrNotExist) {
		if err := os.MkdirAll(name, 0o700); err != nil {
			return nil, fmt.Errorf("create data directory: %w", err)
		}
		// Otherwise a power loss could remove the directory with its content.
		if err := syncDir(filepath.Dir(filepath.Clean(name))); err != nil {
			return nil, err
		}
	}
	lock, err := lockFile(filepath.Join(name, lockName))
	if err != nil {
		return nil, fmt.Errorf("lock data directory %s: %w", name, err)
	}
	return &dir{name: name, lock: lock}, nil
}

func (d *dir) path(name string) string { return filepath.Join(d.name, name) }

// list returns the names of all files, whether the registry wrote them or not.
func (d *dir) list() ([]string, error) {
	entries, err := os.ReadDir(d.name)
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Name()
	}
	return names, err
}

func (d *dir) read(name string) ([]byte, error) { return os.ReadFile(d.path(name)) }

// create creates an empty file for appending; only the owner of the directory may read it.
func (d *dir) create(name string) (file, error) {
	f, err := os.OpenFile(d.path(name), os.O_CREATE|os.O_TRUNC|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	if err := giveToOwner(d.path(name)); err != nil {
		return nil, errors.Join(err, f.Close(), d.remove(name))
	}
	return osFile{f}, nil
}

func (d *dir) rename(from, to string) error { return os.Rename(d.path(from), d.path(to)) }

func (d *dir) remove(name string) error { return os.Remove(d.path(name)) }

func (d *dir) sync() error { return syncDir(d.name) }

func (d *dir) close() error { return d.lock.Close() }

// syncDir makes what was created, renamed and removed in a directory durable.
func syncDir(name string) error {
	d, err := os.Open(name)
	if err != nil {
		return fmt.Errorf("sync directory: %w", err)
	}
	return errors.Join(d.Sync(), d.Close())
}

// osFile is a real file. Its Sync skips metadata that only stat shows.
type osFile struct{ *os.File }

func (f osFile) Sync() error { return syncData(f.File) }
