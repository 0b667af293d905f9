package module

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// aside begins the names of directories for modules that are about to be removed.
const aside = ".aside-"

// Held is a module on the disk.
type Held struct {
	Digest string
	Size   int64
	Since  time.Time // when it was last stored
}

// Held lists the stored modules in ascending order of digests, without reading them.
func (s *Store) Held() ([]Held, error) {
	digests, err := s.List()
	if err != nil {
		return nil, err
	}
	all := make([]Held, 0, len(digests))
	for _, d := range digests {
		info, err := os.Stat(s.path(d))
		if errors.Is(err, fs.ErrNotExist) { // it was pruned meanwhile
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("list modules: %w", err)
		}
		all = append(all, Held{d, info.Size(), info.ModTime()})
	}
	return all, nil
}

// Used returns the digests of all modules in use.
type Used func() (map[string]bool, error)

// Prunable lists the modules that were last stored before a time and are not in use.
func (s *Store) Prunable(before time.Time, used Used) ([]Held, error) {
	needed, err := used()
	if err != nil {
		return nil, err
	}
	all, err := s.Held()
	if err != nil {
		return nil, err
	}
	var free []Held
	for _, h := range all {
		if !needed[h.Digest] && h.Since.Before(before) {
			free = append(free, h)
		}
	}
	return free, nil
}

// Prune removes the modules that Prunable lists, and returns them. It first sets them
// aside, and calls used again. A module that has come into use before that call is put
// back; one that comes into use later is gone. A concurrent upload survives: it either
// writes a new file, or makes the file that was set aside a new one.
func (s *Store) Prune(before time.Time, used Used) (gone []Held, err error) {
	free, err := s.Prunable(before, used)
	if err != nil || len(free) == 0 {
		return nil, err
	}
	// Each call has its own directory, so that another one does not remove these modules.
	dir, err := os.MkdirTemp(s.dir, aside+"*")
	if err != nil {
		return nil, fmt.Errorf("prune modules: %w", err)
	}
	defer func() { err = errors.Join(err, s.restore(dir)) }()
	for _, h := range free {
		if err := os.Rename(s.path(h.Digest), filepath.Join(dir, h.Digest+suffix)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("prune modules: %w", err)
		}
	}
	needed, err := used()
	if err != nil {
		return nil, err
	}
	for _, h := range free {
		path := filepath.Join(dir, h.Digest+suffix)
		info, err := os.Stat(path)
		if err == nil && (needed[h.Digest] || !info.ModTime().Before(before)) { // restore puts it back
			continue
		}
		if err == nil {
			err = os.Remove(path)
		}
		switch {
		case err == nil:
			gone = append(gone, h)
			if err := errors.Join(s.pruneSignature(h.Digest, before, dir), s.pruneArtifacts(h.Digest)); err != nil {
				return gone, err
			}
		case !errors.Is(err, fs.ErrNotExist): // another process has put it back
			return gone, fmt.Errorf("prune modules: %w", err)
		}
	}
	return gone, nil
}

// restore puts back the modules in a directory of Prune, and removes the directory.
func (s *Store) restore(dir string) error {
	left, err := os.ReadDir(dir)
	if err != nil {
		return ignoreMissing(err)
	}
	now := time.Now()
	for _, e := range left {
		path := filepath.Join(dir, e.Name())
		// It may replace a new upload, and must not look older than that.
		err := os.Chtimes(path, now, now)
		if err == nil {
			err = os.Rename(path, filepath.Join(s.dir, e.Name()))
		}
		if err := ignoreMissing(err); err != nil {
			return err
		}
	}
	return errors.Join(ignoreMissing(os.Remove(dir)), s.syncDir())
}

// restoreAll puts back the modules of an interrupted Prune. A Prune in progress then
// finds fewer to remove.
func (s *Store) restoreAll(entries []fs.DirEntry) error {
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), aside) {
			continue
		}
		if err := s.restore(filepath.Join(s.dir, e.Name())); err != nil {
			return err
		}
	}
	return nil
}

// ignoreMissing returns nil if a file was gone: another process has put it back, or
// removed it.
func ignoreMissing(err error) error {
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return fmt.Errorf("give back modules: %w", err)
}
