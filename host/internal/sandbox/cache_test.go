package sandbox

import (
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/wasmjob/wasmjob/host/job"
)

// cacheUser opens an engine on a cache, calls damage, and runs a module, which must
// succeed.
func cacheUser(t *testing.T, dir string, damage func()) {
	t.Helper()
	e, err := New(Options{CacheDir: dir})
	if err != nil {
		t.Fatal(err)
	}
	damage()
	m, err := e.Load(t.Context(), (&builder{}).job(i32(3)))
	if err != nil {
		t.Fatal(err)
	}
	expect(t, e.Run(t.Context(), m, job.Call{}), job.Nothing, "")
	if err := e.Close(); err != nil {
		t.Error(err)
	}
}

func undamaged() {}

// cacheWithOne creates a cache with one module.
func cacheWithOne(t *testing.T) (dir, file string, content []byte) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "cache")
	cacheUser(t, dir, undamaged)
	files, err := cachedFiles(dir)
	if err != nil || len(files) != 2 {
		t.Fatalf("cached: %v, %v", files, err)
	}
	file = strings.TrimSuffix(files[0], sealSuffix)
	content, err = os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return dir, file, content
}

func TestCacheOnDisk(t *testing.T) {
	t.Parallel()
	dir, file, whole := cacheWithOne(t)
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("mode of the cache: %v, %v", info.Mode(), err)
	}
	cacheUser(t, dir, undamaged)
	spoil := func(b []byte) func() {
		return func() {
			if err := os.WriteFile(file, b, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	mended := func(name string) {
		t.Helper()
		if b, err := os.ReadFile(file); err != nil || len(b) != len(whole) || !hasValidSeal(file, cacheKey(dir)) {
			t.Errorf("%s: the cache was not mended: %d bytes, %v", name, len(b), err)
		}
	}
	for name, damaged := range map[string][]byte{"empty": {}, "cut": whole[:len(whole)/2], "other": []byte("hello, this is no code")} {
		spoil(damaged)()
		cacheUser(t, dir, undamaged)
		mended(name)
		cacheUser(t, dir, spoil(damaged)) // with the engine already open
		mended(name)
	}
	// The engine itself misses most of these, and crashes on some.
	for at := 0; at < len(whole); at += 3 {
		flipped := slices.Clone(whole)
		flipped[at] ^= 0x80
		spoil(flipped)()
		cacheUser(t, dir, undamaged)
		mended("flipped")
	}
}

// A process that can write to the cache but does not know the key cannot add code:
// not with an old checksum, not with another key, and not by exchanging sealed
// files.
func TestCacheTakesNothingThatItDidNotSeal(t *testing.T) {
	t.Parallel()
	dir, file, whole := cacheWithOne(t)
	seal, err := os.ReadFile(file + sealSuffix)
	if err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(filepath.Dir(file), strings.Repeat("0", len(filepath.Base(file))))
	foreignSeal, err := sealOf(file, make([]byte, keyBytes))
	if err != nil {
		t.Fatal(err)
	}
	for name, put := range map[string]struct{ file, seal string }{
		"as it was":           {file, string(seal)},
		"a checksum":          {file, fmt.Sprintf("%08x %d\n", crc32.Checksum(whole, crc32.MakeTable(crc32.Castagnoli)), len(whole))},
		"another key":         {file, foreignSeal},
		"under another name":  {other, string(seal)},
		"no seal":             {file, ""},
		"a seal that is more": {file, string(seal) + "\n"},
	} {
		for path, text := range map[string]string{put.file: string(whole), put.file + sealSuffix: put.seal} {
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		cache, err := openCache(dir)
		if err != nil {
			t.Fatal(err)
		}
		_, err = os.Stat(put.file)
		if kept := err == nil; kept != (name == "as it was") {
			t.Errorf("%s: kept is %v", name, kept)
		}
		if err := cache.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

// The path of a cache is not a pattern: damaged files are found there, too.
func TestCacheWhosePathLooksLikeAPattern(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "[a]*")
	cacheUser(t, dir, undamaged)
	files, err := cachedFiles(dir)
	if err != nil || len(files) != 2 {
		t.Errorf("cached: %v, %v", files, err)
	}
	of := trialsOf(dir, 1)
	if err := of.writeTrial("some", trial{Stage: trialRefused, Why: "x"}); err != nil {
		t.Fatal(err)
	}
	if refused, err := RefusedModules(dir); err != nil || len(refused) != 1 || refused["some"] == "" {
		t.Errorf("refused: %v, %v", refused, err)
	}
	left := filepath.Join(dir, "apart-1")
	if err := os.Mkdir(left, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := removeSubprocessDirs(dir); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(left); err == nil {
		t.Error("a compilation that broke off is left")
	}
}

// Without a key that only this user can read, the cache is not used.
func TestCacheWithoutItsKey(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(key string) error{
		"gone":        os.Remove,
		"short":       func(key string) error { return os.WriteFile(key, []byte("short"), 0o600) },
		"long":        func(key string) error { return os.WriteFile(key, make([]byte, keyBytes+1), 0o600) },
		"readable":    func(key string) error { return os.Chmod(key, 0o644) },
		"a directory": func(key string) error { return errors.Join(os.Remove(key), os.Mkdir(key, 0o700)) },
		"a link":      func(key string) error { return errors.Join(os.Rename(key, key+"2"), os.Symlink(key+"2", key)) },
	} {
		dir, file, _ := cacheWithOne(t)
		if err := spoil(dir + keySuffix); err != nil {
			t.Fatal(err)
		}
		_, err := openCache(dir)
		if name == "a directory" { // only files that were created here are removed
			if err == nil {
				t.Errorf("%s: it is no error", name)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(file); err == nil {
			t.Errorf("%s: the cache is still used", name)
		}
		if info, err := os.Lstat(dir + keySuffix); err != nil || info.Mode() != 0o600 || info.Size() != keyBytes {
			t.Errorf("%s: new key: %v, %v", name, info, err)
		}
		cacheUser(t, dir, undamaged)
		if !hasValidSeal(file, cacheKey(dir)) {
			t.Errorf("%s: nothing is kept any more", name)
		}
	}
}

func TestCacheThatOthersMayWrite(t *testing.T) {
	t.Parallel()
	dir, file, _ := cacheWithOne(t)
	refused := func(what string) {
		t.Helper()
		if _, err := New(Options{CacheDir: dir}); err == nil || !strings.Contains(err.Error(), "other users may write to "+what) {
			t.Errorf("%s: %v", what, err)
		}
	}
	for open, mode := range map[string]os.FileMode{dir: 0o700, filepath.Dir(file): 0o700, file: 0o600, file + sealSuffix: 0o600} {
		if err := os.Chmod(open, mode|0o020); err != nil {
			t.Fatal(err)
		}
		refused(open)
		if err := os.Chmod(open, mode); err != nil {
			t.Fatal(err)
		}
	}
	link := filepath.Join(filepath.Dir(file), "link")
	if err := os.Symlink(file, link); err != nil {
		t.Fatal(err)
	}
	refused(link)
}

func TestCacheOfSomebodyElse(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root can give files to others")
	}
	dir, file, _ := cacheWithOne(t)
	for _, theirs := range []string{dir, filepath.Dir(file), file} {
		if err := os.Chown(theirs, 12345, -1); err != nil {
			t.Fatal(err)
		}
		if _, err := New(Options{CacheDir: dir}); err == nil || !strings.Contains(err.Error(), "other users may write to "+theirs) {
			t.Errorf("%s: %v", theirs, err)
		}
		if err := os.Chown(theirs, 0, -1); err != nil {
			t.Fatal(err)
		}
	}
}

// If the cache cannot be written, modules are still compiled.
func TestCacheThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "cache")
	cacheUser(t, dir, func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
	})
}

func TestCompilerFailureIsAnError(t *testing.T) {
	t.Parallel()
	if _, err := (&Engine{}).tryCompile(nil); err == nil || !strings.Contains(err.Error(), "the compiler failed") {
		t.Errorf("got %v", err)
	}
}

// The oldest code goes first, with its seal; modules can be compiled again.
func TestCacheIsBounded(t *testing.T) {
	t.Parallel()
	dir, file, content := cacheWithOne(t)
	key, old := cacheKey(dir), file+"0"
	seal, err := sealOf(file, key)
	if err != nil {
		t.Fatal(err)
	}
	for name, b := range map[string][]byte{old: content, old + sealSuffix: []byte(seal)} {
		if err := os.WriteFile(name, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chtimes(old, time.Time{}, time.Unix(1, 0)); err != nil {
		t.Fatal(err)
	}
	one := int64(len(content) + len(seal))
	for _, c := range []struct {
		most int64
		left []string
	}{
		{2 * one, []string{file, file + sealSuffix, old, old + sealSuffix}},
		{2*one - 1, []string{file, file + sealSuffix}},
		{0, nil},
	} {
		if err := dropOldest(dir, c.most); err != nil {
			t.Fatal(err)
		}
		left, err := cachedFiles(dir)
		slices.Sort(left)
		slices.Sort(c.left)
		if err != nil || !slices.Equal(left, c.left) {
			t.Errorf("of %d bytes: %v, %v", c.most, left, err)
		}
	}
	cacheUser(t, dir, undamaged)
}
