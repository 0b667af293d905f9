// Package reach checks whether a directory granted to guests overlaps with the server's
// own files: its data, its secrets, and the files that it starts with. It compares
// directories by inode, so no link, mount or other spelling of a path leads to private
// files. It refuses grants and gives none.
package reach

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/wasmjob/wasmjob/host/job"
)

// maxEntries bounds the search below a private directory.
const maxEntries = 10_000

// Find returns the first private path that a granted directory overlaps: the directory is
// that path, contains it, or is below it. It returns nil if there is none.
func Find(all []job.Private, dir job.Dir) *job.Private {
	var above []fs.FileInfo
	for i, p := range all {
		if p.Path == "" || dir.Host == "" || p.Readable && !dir.Write {
			continue // nothing to compare, or the grant does no harm
		}
		if within(dir.Host, p.Path) || within(p.Path, dir.Host) {
			return &all[i]
		}
		if above == nil {
			above = parents(dir.Host)
		}
		// Compare what the paths lead to: the granted directory may contain the private path, or
		// be it or lie below it, perhaps by a link or a mount.
		own := parents(p.Path)
		if top, err := os.Stat(dir.Host); err == nil && same(top, own) || meets(directories(p.Path), above) {
			return &all[i]
		}
	}
	return nil
}

// Guard checks directories after they were opened.
type Guard struct {
	all  []job.Private   // without those inside another one
	dirs [][]fs.FileInfo // for each, the directories below it at the start: they may be mounted elsewhere, too
}

// NewGuard returns a Guard for private paths.
func NewGuard(all []job.Private) *Guard {
	g := &Guard{}
	for i, p := range all {
		encloses := func(q job.Private) bool { return !q.Readable && q.Path != p.Path && within(q.Path, p.Path) }
		if slices.ContainsFunc(all, encloses) || slices.ContainsFunc(all[:i], func(q job.Private) bool { return q == p }) {
			continue // a directory that contains it is private, too, or it is listed twice
		}
		g.all = append(g.all, p)
		g.dirs = append(g.dirs, directories(p.Path))
	}
	return g
}

// Check refuses a directory that was opened for a grant, root, if it overlaps with a private
// path now: it contains or is that path, is below it, or is below a directory that was below
// it at the start. write says that guests may write to it. A nil Guard refuses nothing.
func (g *Guard) Check(root *os.Root, write bool) error {
	if g == nil || len(g.all) == 0 {
		return nil
	}
	above, err := opened(root)
	if err != nil {
		return fmt.Errorf("look where the directory lies: %w", err)
	}
	for i, p := range g.all {
		if p.Readable && !write {
			continue
		}
		now, err := os.Stat(p.Path)
		if same(above[0], parents(p.Path)) || err == nil && now.IsDir() && same(now, above) || meets(g.dirs[i], above) {
			return fmt.Errorf("no job may %s %s", Verb(p), p.What)
		}
	}
	return nil
}

// Verb returns what no job may do with a private path.
func Verb(p job.Private) string {
	if p.Readable {
		return "write to"
	}
	return "reach"
}

// within reports whether path is at or below top, by the paths alone.
func within(top, path string) bool {
	rel, err := filepath.Rel(top, path)
	return err == nil && filepath.IsLocal(rel)
}

// parents returns a file, if it exists, and all directories above it, by its path
// and by the targets of links on that path.
func parents(path string) []fs.FileInfo {
	all, links := chain(path)
	if !links {
		return all
	}
	for p := path; ; p = filepath.Dir(p) {
		if led, err := filepath.EvalSymlinks(p); err == nil {
			there, _ := chain(led)
			return append(all, there...)
		}
		if p == filepath.Dir(p) {
			return all
		}
	}
}

// chain returns a file and the directories above it by its path. links reports whether
// one of them is a link.
func chain(path string) (all []fs.FileInfo, links bool) {
	for {
		info, err := os.Lstat(path)
		if err == nil && info.Mode()&fs.ModeSymlink != 0 {
			links = true
			info, err = os.Stat(path)
		}
		if err == nil {
			all = append(all, info)
		}
		if path == filepath.Dir(path) {
			return all, links
		}
		path = filepath.Dir(path)
	}
}

// directories returns a directory and those below it; none if it is a file.
func directories(path string) []fs.FileInfo {
	var all []fs.FileInfo
	seen := 0
	// Unreadable directories are left out: guests run as the same user.
	_ = filepath.WalkDir(path, func(_ string, d fs.DirEntry, err error) error {
		if seen++; seen > maxEntries {
			return fs.SkipAll
		}
		if err == nil && d.IsDir() {
			if info, err := d.Info(); err == nil {
				all = append(all, info)
			}
		}
		return nil
	})
	return all
}

// same reports whether one file is among others.
func same(one fs.FileInfo, others []fs.FileInfo) bool {
	return slices.ContainsFunc(others, func(other fs.FileInfo) bool { return os.SameFile(one, other) })
}

// meets reports whether the two lists have a file in common.
func meets(some, others []fs.FileInfo) bool {
	return slices.ContainsFunc(some, func(one fs.FileInfo) bool { return same(one, others) })
}
