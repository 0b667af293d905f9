package main

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"io/fs"
	"slices"
	"strings"
)

// maxListed bounds how many unreadable files the result names.
const maxListed = 20

// errStopped says that the run was asked to end.
var errStopped = errors.New("stopped")

// report is the result of one item.
type report struct {
	Item  int   `json:"item"`
	Total int   `json:"total"`
	Files int   `json:"files"`
	Bytes int64 `json:"bytes"`
	// Digest is the sha256 over "path NUL sha256-of-the-file LF" of each file,
	// in the order of the paths' bytes.
	Digest     string       `json:"digest"`
	Unreadable int          `json:"unreadable"`
	Listed     []unreadable `json:"unreadable_files,omitempty"`
}

// unreadable is a file or directory that is not part of the digest.
type unreadable struct {
	Path  string `json:"path"`
	Error string `json:"error"`
}

// scan is one item's look at a tree.
type scan struct {
	tree        fs.FS
	item, total int
	without     []string // names of directories that are left out
	stop        func() bool
	progress    func(done, total int64)
	report      report
}

// mine reports whether a file belongs to the item. path is below the root, with
// slashes.
func mine(path string, item, total int) bool {
	h := fnv.New64a()
	_, _ = io.WriteString(h, path) // never fails
	return total <= 1 || h.Sum64()%uint64(total) == uint64(item)
}

// run finds the item's files and digests them.
func (s *scan) run() (report, error) {
	s.report = report{Item: s.item, Total: s.total}
	paths, err := s.find()
	if err != nil {
		return s.report, err
	}
	slices.Sort(paths)
	all := sha256.New()
	for i, p := range paths {
		if s.stop() {
			return s.report, errStopped
		}
		sum, n, err := s.digest(p)
		switch {
		case errors.Is(err, errStopped):
			return s.report, err
		case err != nil:
			s.skip(p, err)
		default:
			fmt.Fprintf(all, "%s\x00%s\n", p, sum)
			s.report.Files++
			s.report.Bytes += n
		}
		s.progress(int64(i+1), int64(len(paths)))
	}
	s.report.Digest = hex.EncodeToString(all.Sum(nil))
	return s.report, nil
}

// find lists the item's regular files, without directories that are left out.
func (s *scan) find() ([]string, error) {
	var paths []string
	err := fs.WalkDir(s.tree, ".", func(p string, d fs.DirEntry, err error) error {
		switch {
		case s.stop():
			return errStopped
		case err != nil:
			// Each item sees the error; the one that the path belongs to reports it.
			if mine(p, s.item, s.total) {
				s.skip(p, err)
			}
			if d != nil && d.IsDir() {
				return fs.SkipDir
			}
		case d.IsDir() && slices.Contains(s.without, d.Name()):
			return fs.SkipDir
		case d.Type().IsRegular() && mine(p, s.item, s.total):
			paths = append(paths, p)
		}
		return nil
	})
	return paths, err
}

// digest reads one file; a long one notices when the run should stop.
func (s *scan) digest(path string) (sum string, n int64, err error) {
	f, err := s.tree.Open(path)
	if err != nil {
		return "", 0, err
	}
	defer f.Close()
	h := sha256.New()
	buf := make([]byte, 256<<10)
	for {
		got, err := f.Read(buf)
		h.Write(buf[:got])
		n += int64(got)
		if errors.Is(err, io.EOF) {
			return hex.EncodeToString(h.Sum(nil)), n, nil
		}
		if err != nil {
			return "", 0, err
		}
		if s.stop() {
			return "", 0, errStopped
		}
	}
}

// skip counts a file that cannot be read, and lists the first of them.
func (s *scan) skip(path string, err error) {
	s.report.Unreadable++
	if len(s.report.Listed) < maxListed {
		s.report.Listed = append(s.report.Listed, unreadable{strings.ToValidUTF8(path, "?"), err.Error()})
	}
}
