package module

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"time"
)

func open(t *testing.T) *Store {
	t.Helper()
	s, err := Open(filepath.Join(t.TempDir(), "modules"), nil)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func put(t *testing.T, s *Store, text string) string {
	t.Helper()
	d, err := s.Put(strings.NewReader(text), nil, 100)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func want(t *testing.T, err, sentinel error, text string) {
	t.Helper()
	if err == nil || sentinel != nil && !errors.Is(err, sentinel) || !strings.Contains(err.Error(), text) {
		t.Errorf("got error %v; want %v with %q", err, sentinel, text)
	}
}

func TestOpenRemovesWhatWasCutShort(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "[a]*") // it is no pattern
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	old, young := filepath.Join(dir, ".put-1"), filepath.Join(dir, ".put-2")
	for _, f := range []string{old, young} {
		if err := os.WriteFile(f, []byte("half"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chtimes(old, time.Unix(0, 0), time.Unix(0, 0)); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(dir, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(old); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("old: %v", err)
	}
	if _, err := os.Lstat(young); err != nil {
		t.Errorf("young: %v", err)
	}
}

func TestStoredModuleMayBeTooBig(t *testing.T) {
	t.Parallel()
	s := open(t)
	ref := "sha256:" + put(t, s, "hello")
	if _, _, err := s.LoadSource(ref, "", "", 5); err != nil {
		t.Error(err)
	}
	_, _, err := s.LoadSource(ref, "", "", 4)
	want(t, err, ErrTooBig, "5 bytes")
}

func TestStoreKeepsByDigest(t *testing.T) {
	t.Parallel()
	s := open(t)
	d := put(t, s, "hello")
	if d != "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824" {
		t.Errorf("digest %s", d)
	}
	if again := put(t, s, "hello"); again != d {
		t.Errorf("a second time: %s", again)
	}
	other := put(t, s, "")
	b, err := s.Get(d)
	if err != nil || string(b) != "hello" {
		t.Errorf("get: %q, %v", b, err)
	}
	all, err := s.List()
	if err != nil || !slices.Equal(all, []string{d, other}) {
		t.Errorf("list: %v, %v", all, err)
	}
	entries, err := os.ReadDir(s.dir)
	if err != nil || len(entries) != 2 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
}

func TestStoreRefuses(t *testing.T) {
	t.Parallel()
	s := open(t)
	_, err := s.Put(strings.NewReader("12345"), nil, 4)
	want(t, err, ErrTooBig, "more than 4 bytes")
	if _, err := s.Put(strings.NewReader("1234"), nil, 4); err != nil {
		t.Error(err)
	}
	_, err = s.Put(iotest.ErrReader(errors.New("torn")), nil, 4)
	want(t, err, nil, "torn")
	_, err = s.Get(strings.Repeat("0", 64))
	want(t, err, ErrNotFound, "not in the store")
	for _, bad := range []string{"", "../../etc/passwd", strings.Repeat("A", 64), strings.Repeat("0", 63)} {
		_, err := s.Get(bad)
		want(t, err, nil, "not a sha256")
	}
	entries, err := os.ReadDir(s.dir)
	if err != nil || len(entries) != 1 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
}

func TestStoreNoticesAndMendsDamage(t *testing.T) {
	t.Parallel()
	s := open(t)
	d := put(t, s, "hello")
	if err := os.WriteFile(s.path(d), []byte("hullo"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := s.Get(d)
	want(t, err, ErrDamaged, d)
	put(t, s, "hello")
	if b, err := s.Get(d); err != nil || string(b) != "hello" {
		t.Errorf("get: %q, %v", b, err)
	}
}

func TestStoreTakesOneModuleFromMany(t *testing.T) {
	t.Parallel()
	s := open(t)
	content := bytes.Repeat([]byte("x"), 100_000)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			d, err := s.Put(bytes.NewReader(content), nil, 1<<20)
			if err != nil {
				t.Error(err)
				return
			}
			if b, err := s.Get(d); err != nil || !bytes.Equal(b, content) {
				t.Errorf("get: %d bytes, %v", len(b), err)
			}
		})
	}
	wg.Wait()
}

func TestLoadSource(t *testing.T) {
	t.Parallel()
	s := open(t)
	base := t.TempDir()
	file := filepath.Join(base, "job.wasm")
	if err := os.WriteFile(file, []byte("code"), 0o600); err != nil {
		t.Fatal(err)
	}
	pin := Digest([]byte("code"))
	for _, ref := range []string{"file:job.wasm", "job.wasm", "./job.wasm", "file:" + file, "file://" + file, file, "sha256:" + pin} {
		for _, p := range []string{"", pin, "sha256:" + pin} {
			d, b, err := s.LoadSource(ref, p, base, 100)
			if err != nil || d != pin || string(b) != "code" {
				t.Errorf("%s pinned to %q: %s, %q, %v", ref, p, d, b, err)
			}
		}
	}
	wrong := Digest([]byte("other"))
	for _, tt := range []struct {
		ref, pin string
		limit    int64
		sentinel error
		text     string
	}{
		{"file:job.wasm", wrong, 100, ErrPin, wrong},
		{"file:none.wasm", "", 100, ErrNotFound, filepath.Join(base, "none.wasm")},
		{"file:none.wasm", wrong, 100, ErrNotFound, "no file"},
		{"file:.", "", 100, nil, "regular file"},
		{"file:job.wasm", "", 3, ErrTooBig, "3 bytes"},
		{"file:job.wasm", "abc", 100, nil, "not a sha256"},
		{"sha256:" + wrong, "", 100, ErrNotFound, "not in the store"},
		{"https://example.org/job.wasm", "", 100, nil, "not supported yet"},
		{"oci:example.org/job", "", 100, nil, "not supported yet"},
		{"ftp:job.wasm", "", 100, nil, "unknown scheme"},
	} {
		_, _, err := s.LoadSource(tt.ref, tt.pin, base, tt.limit)
		want(t, err, tt.sentinel, tt.text)
	}
	if all, err := s.List(); err != nil || !slices.Equal(all, []string{pin}) {
		t.Errorf("stored: %v, %v", all, err)
	}
	// The source file is removed; the pinned module stays.
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if _, b, err := s.LoadSource("file:job.wasm", pin, base, 100); err != nil || string(b) != "code" {
		t.Errorf("without the file: %q, %v", b, err)
	}
}

func FuzzSplitScheme(f *testing.F) {
	for _, ref := range []string{"file:a", "a", "c:/a", "sha256:0", ":", "", "./a:b", "https://a"} {
		f.Add(ref)
	}
	f.Fuzz(func(t *testing.T, ref string) {
		scheme, rest := splitScheme(ref)
		if scheme == "" || !strings.HasSuffix(ref, rest) {
			t.Errorf("%q → %q, %q", ref, scheme, rest)
		}
	})
}
