package guest

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wasmjob/wasmjob/host/internal/lockfile"
	"github.com/wasmjob/wasmjob/host/job"
)

// When the caller's context ends, the guest is asked to stop at once and ended after its grace
// period. A guest that ended by itself leaves no timer behind.
func TestAGuestIsAskedToStopFirst(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		c := job.Call{Config: job.Config{Limits: job.Limits{Grace: time.Minute}}}
		hard, done := stoppable(ctx, &c)
		if c.Why() != job.Continue {
			t.Error("it is to stop before it is asked")
		}
		cancel()
		if c.Why() != job.StopShutdown || hard.Err() != nil {
			t.Errorf("asked: %d, %v", c.Why(), hard.Err())
		}
		began := time.Now()
		<-hard.Done()
		if grace := time.Since(began); grace != time.Minute {
			t.Errorf("it was ended after %s", grace)
		}
		done()

		_, done = stoppable(ctx, &c)
		done()
	})
}

// A guest cannot write to the cached code that the next call runs.
func TestNoGuestWritesToTheCache(t *testing.T) {
	t.Parallel()
	top := t.TempDir()
	o := Options{CacheDir: filepath.Join(top, "cache")}
	wasm := wasmOf(t, "ok")
	for write, want := range map[bool]job.Verdict{false: job.OK, true: job.Failure} {
		call := job.Call{Config: job.Config{Name: "j", Kind: job.Simple, Shards: 1}, Total: 1}
		call.Config.Allow.Dirs = []job.Dir{{Host: top, Guest: "/data", Write: write}}
		out, err := Run(t.Context(), wasm, call, o)
		if err != nil || out.Verdict != want || write != strings.Contains(out.Error, "no job may write to the cache of compiled code") {
			t.Errorf("write is %v: %s (%s), %v", write, out.Verdict, out.Error, err)
		}
	}
}

// Compiled code is stored for the next call, in a directory that one process uses at a
// time; the least recently used ones are removed.
func TestTheCacheOfCompiledCode(t *testing.T) { //nolint:paralleltest // a process that another test forks holds its locks until it executes its program
	top := filepath.Join(t.TempDir(), "cache", "wasmjobd")
	o := Options{CacheDir: top, Note: func(err error) { t.Error(err) }}
	call := job.Call{Config: job.Config{Name: "j", Kind: job.Simple, Shards: 1}, Total: 1}
	compiled := func() int {
		t.Helper()
		files, err := filepath.Glob(filepath.Join(top, "*", "code", "wazero-*", "*"))
		if err != nil {
			t.Fatal(err)
		}
		return len(files)
	}
	wasm := wasmOf(t, "ok")
	for range 2 {
		if out, err := Run(t.Context(), wasm, call, o); err != nil || out.Verdict != job.OK {
			t.Fatalf("%+v, %v", out, err)
		}
	}
	if n := compiled(); n != 2 { // the code and its checksum
		t.Errorf("%d files", n)
	}
	if info, err := os.Stat(top); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", info, err)
	}

	_, unlock, err := takeCache(top, "taken")
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := takeCache(top, "taken"); !errors.Is(err, lockfile.ErrTaken) {
		t.Errorf("a second one: %v", err)
	}
	past := time.Now().Add(-time.Hour)
	for i := range maxCached {
		dir := filepath.Join(top, strconv.Itoa(i))
		_, free, err := takeCache(top, strconv.Itoa(i))
		if err == nil {
			free()
			err = os.Chtimes(dir, past, past)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chtimes(filepath.Join(top, "taken"), past.Add(-time.Hour), past.Add(-time.Hour)); err != nil {
		t.Fatal(err)
	}
	left := func() int {
		t.Helper()
		entries, err := os.ReadDir(top)
		if err != nil {
			t.Fatal(err)
		}
		return len(entries)
	}
	_, free, err := takeCache(top, "new")
	if err != nil || left() != maxCached+1 {
		t.Errorf("%d are left, with one in use: %v", left(), err)
	}
	free()
	unlock()
	if err := removeOldest(top); err != nil || left() != maxCached {
		t.Errorf("%d are left: %v", left(), err)
	}
	if _, err := os.Stat(filepath.Join(top, "taken")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the least recently used module is still there: %v", err)
	}
}

// If the cache directory cannot be used, this is reported and the module runs anyway.
func TestARunWithoutTheCache(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	noted := 0
	out, err := Run(t.Context(), wasmOf(t, "ok"), job.Call{Config: job.Config{Name: "j", Kind: job.Simple, Shards: 1}, Total: 1},
		Options{CacheDir: filepath.Join(file, "below"), Note: func(error) { noted++ }})
	if err != nil || out.Verdict != job.OK || noted != 1 {
		t.Errorf("%+v, %v, %d notes", out, err, noted)
	}
}

// recordingHTTP records the requests of a guest.
type recordingHTTP struct{ sent []string }

func (a *recordingHTTP) Do(_ context.Context, r job.HTTPRequest) (*job.HTTPResponse, error) {
	a.sent = append(a.sent, r.Method)
	return &job.HTTPResponse{Status: 200}, nil
}

func TestReadOnlyChangesNothingElsewhere(t *testing.T) {
	t.Parallel()
	network := &recordingHTTP{}
	h := readOnly{network}
	for _, method := range []string{"GET", "HEAD", "POST", "PUT", "DELETE", "get"} {
		_, err := h.Do(t.Context(), job.HTTPRequest{Method: method})
		if denied := errors.Is(err, job.ErrDenied); denied != (method != "GET" && method != "HEAD") {
			t.Errorf("%s: %v", method, err)
		}
	}
	if !slices.Equal(network.sent, []string{"GET", "HEAD"}) {
		t.Errorf("sent %q", network.sent)
	}

	dir := t.TempDir()
	for _, tt := range []struct {
		o     Options
		files int
	}{{Options{ReadOnly: true}, 0}, {Options{}, 1}} {
		c := job.Call{Config: job.Config{Name: "long", Kind: job.Simple, Shards: 1, Allow: job.Allow{Dirs: []job.Dir{{Host: dir, Guest: "/d", Write: true}}}}, Total: 1, ItemParam: "0", HasItemParam: true}
		wasm, err := os.ReadFile("../../plugins/examples/long-wat/long.wasm")
		if err != nil {
			t.Fatal(err)
		}
		if out, err := Run(t.Context(), wasm, c, tt.o); err != nil || out.Verdict != job.OK {
			t.Fatalf("%+v, %v", out, err)
		}
		if files, err := os.ReadDir(dir); err != nil || len(files) != tt.files {
			t.Errorf("%+v: %v, %v", tt.o, files, err)
		}
	}
}

func wasmOf(t *testing.T, name string) []byte {
	t.Helper()
	wasm, err := os.ReadFile(filepath.Join("..", "..", "abi", "conformance", "wat", name+".wasm"))
	if err != nil {
		t.Fatal(err)
	}
	return wasm
}
