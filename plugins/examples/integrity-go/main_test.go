package main

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	wasmjob "github.com/wasmjob/wasmjob/abi/go"
)

func tree() fstest.MapFS {
	return fstest.MapFS{
		"a.txt":         {Data: []byte("a")},
		"b/c.txt":       {Data: []byte("cc")},
		"b.txt":         {Data: []byte("bbb")},
		"d/.git/config": {Data: []byte("changes all the time")},
		".git/HEAD":     {Data: []byte("x")},
		".gitignore":    {Data: []byte("/out")},
		"link":          {Data: []byte("a.txt"), Mode: fs.ModeSymlink},
		"pipe":          {Mode: fs.ModeNamedPipe},
	}
}

func scanOf(t fs.FS, item, total int) *scan {
	return &scan{tree: t, item: item, total: total, without: []string{".git"}, stop: func() bool { return false }, progress: func(int64, int64) {}}
}

func TestScanDigestsEverythingOnce(t *testing.T) {
	t.Parallel()
	whole, err := scanOf(tree(), 0, 1).run()
	if err != nil {
		t.Fatal(err)
	}
	// printf 'PATH\0SHA256\n' of .gitignore, a.txt, b.txt and b/c.txt | sha256sum
	const want = "d593b0cb7bb0204c5e6ba92a663b87e585541f0baae5b580395310916f4e59f9"
	if whole.Files != 4 || whole.Bytes != 10 || whole.Unreadable != 0 || whole.Digest != want {
		t.Errorf("%+v", whole)
	}
	for _, total := range []int{2, 3, 7} {
		files, bytes := 0, int64(0)
		for item := range total {
			r, err := scanOf(tree(), item, total).run()
			if err != nil {
				t.Fatal(err)
			}
			files, bytes = files+r.Files, bytes+r.Bytes
		}
		if files != 4 || bytes != 10 {
			t.Errorf("%d items: %d files, %d bytes", total, files, bytes)
		}
	}
}

func TestScanNoticesChanges(t *testing.T) {
	t.Parallel()
	before, err := scanOf(tree(), 0, 1).run()
	if err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(fstest.MapFS){
		"content": func(m fstest.MapFS) { m["a.txt"].Data = []byte("b") },
		"name":    func(m fstest.MapFS) { m["a2.txt"] = m["a.txt"]; delete(m, "a.txt") },
		"gone":    func(m fstest.MapFS) { delete(m, "b.txt") },
		"more":    func(m fstest.MapFS) { m["new"] = &fstest.MapFile{} },
	} {
		m := tree()
		change(m)
		after, err := scanOf(m, 0, 1).run()
		if err != nil || after.Digest == before.Digest {
			t.Errorf("%s: %v, same digest: %v", name, err, after.Digest == before.Digest)
		}
	}
	m := tree()
	m[".git/HEAD"].Data = []byte("y")
	if after, err := scanOf(m, 0, 1).run(); err != nil || after.Digest != before.Digest {
		t.Errorf("git's own files count: %+v, %v", after, err)
	}
}

func TestJob(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "x"), []byte("xyz"), 0o600); err != nil {
		t.Fatal(err)
	}
	f := &wasmjob.Fake{Total: 1, Config: map[string]string{"root": dir}}
	if code := f.Run(integrity); code != 0 {
		t.Fatalf("code %d: %s", code, f.Err)
	}
	var r report
	if err := json.Unmarshal(f.Result, &r); err != nil || r.Files != 1 || r.Bytes != 3 || len(r.Digest) != 64 {
		t.Errorf("result %s, %v", f.Result, err)
	}
	if f.Done != 1 || f.Goals != 1 {
		t.Errorf("progress %d of %d", f.Done, f.Goals)
	}

	f = &wasmjob.Fake{Total: 1, Config: map[string]string{"root": dir}, Stop: func() wasmjob.Reason { return wasmjob.StopShutdown }}
	if code := f.Run(integrity); code != 2 || !strings.Contains(f.Err, "shutdown") {
		t.Errorf("asked to stop: code %d, %s", code, f.Err)
	}
	f = &wasmjob.Fake{Total: 1, Config: map[string]string{"root": filepath.Join(dir, "none")}}
	if code := f.Run(integrity); code != 1 || !strings.Contains(f.Err, "grant one") {
		t.Errorf("no directory: code %d, %s", code, f.Err)
	}
}

func TestUnreadableFilesAreListed(t *testing.T) {
	t.Parallel()
	s := scanOf(broken{tree()}, 0, 1)
	r, err := s.run()
	if err != nil || r.Unreadable != 1 || len(r.Listed) != 1 || r.Listed[0].Path != "b.txt" || r.Files != 3 {
		t.Errorf("%+v, %v", r, err)
	}
	for range 2 * maxListed {
		s.skip("x", fs.ErrPermission)
	}
	if len(s.report.Listed) != maxListed || s.report.Unreadable != 1+2*maxListed {
		t.Errorf("%d listed, %d counted", len(s.report.Listed), s.report.Unreadable)
	}
}

// broken is a tree in which one file cannot be opened.
type broken struct{ fstest.MapFS }

func (b broken) Open(name string) (fs.File, error) {
	if name == "b.txt" {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrPermission}
	}
	return b.MapFS.Open(name)
}
