package sandbox

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/wasmjob/wasmjob/host/job"
)

func TestCacheOnDisk(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "cache")
	wasm := (&builder{}).job(i32(3))
	use := func() {
		t.Helper()
		e, err := New(Options{CacheDir: dir})
		if err != nil {
			t.Fatal(err)
		}
		m, err := e.Load(t.Context(), wasm)
		if err != nil {
			t.Fatal(err)
		}
		expect(t, e.Run(t.Context(), m, job.Call{}), job.Nothing, "")
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	}
	use()
	files, err := filepath.Glob(filepath.Join(dir, "*", "*"))
	if err != nil || len(files) != 1 {
		t.Fatalf("cached: %v, %v", files, err)
	}
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("mode of the cache: %v, %v", info.Mode(), err)
	}
	use()
	whole, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	flipped := append([]byte{}, whole...)
	flipped[len(flipped)/2] ^= 0xff
	for name, damaged := range map[string][]byte{"empty": {}, "cut": whole[:len(whole)/2], "other": []byte("hello, this is no code"), "flipped": flipped} {
		if err := os.WriteFile(files[0], damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		use()
		if b, err := os.ReadFile(files[0]); err != nil || len(b) != len(whole) {
			t.Errorf("%s: the cache was not mended: %d bytes, %v", name, len(b), err)
		}
	}
}
