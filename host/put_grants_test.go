package host

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wasmjob/wasmjob/host/job"
)

// wantRefused checks that err has the code Invalid and contains this text.
func wantRefused(t *testing.T, what string, err error, says string) {
	t.Helper()
	if wantCode(t, what, err, Invalid); err != nil && !strings.Contains(err.Error(), says) {
		t.Errorf("%s: %v, which does not say %q", what, err, says)
	}
}

// kitFrom returns modules of the kit for a test that changes the working directory.
func kitFrom(t *testing.T, name string) map[string]Module {
	t.Helper()
	path, err := filepath.Abs(kit(name)[name].Path)
	if err != nil {
		t.Fatal(err)
	}
	return map[string]Module{name: {Path: path}}
}

// A host with neither a data directory nor a Runner starts and refuses every job. It writes
// nothing into the working directory.
func TestPutWithoutDataDir(t *testing.T) {
	modules, dir := kitFrom(t, "ok"), t.TempDir()
	t.Chdir(dir) // so the test is not parallel
	a := job.Config{Name: "a", Module: "ok", Shards: 1}
	h, stop := start(t, Options{Modules: modules})
	const says = "set DataDir"
	wantRefused(t, "put", h.Put(t.Context(), a), says)
	wantRefused(t, "put a module", h.PutModule(t.Context(), "m", modules["ok"]), says)
	_, err := h.Reload(t.Context(), []job.Config{a}, modules)
	wantRefused(t, "reload", err, says)
	wantCode(t, "remove a module", h.RemoveModule(t.Context(), "m"), NotFound)
	if err := stop(); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left in the working directory: %v, %v", left, err)
	}
}

// Put grants only directories below those of Options.Allow. A host without granted
// directories at the start grants none later.
func TestPutGrantsDirectories(t *testing.T) {
	t.Parallel()
	inside, outside := t.TempDir(), t.TempDir()
	below := filepath.Join(inside, "below")
	if err := os.Mkdir(below, 0o700); err != nil {
		t.Fatal(err)
	}
	granted := func(d job.Dir) job.Config {
		d.Guest = "/data"
		return job.Config{Name: "a", Module: "ok", Shards: 1, Allow: job.Allow{Dirs: []job.Dir{d}}}
	}
	const says = "open granted directory "
	for _, tt := range []struct {
		name    string
		o       Options
		granted []job.Dir
		refused []job.Dir
	}{
		{"no limits and no grant", Options{}, nil, []job.Dir{{Host: inside}}},
		{
			"limits", Options{Allow: GrantLimits{Dirs: []Tree{{Path: inside}}}}, []job.Dir{{Host: inside}, {Host: below}},
			[]job.Dir{{Host: outside}, {Host: below, Write: true}, {Host: filepath.Join(inside, "none")}},
		},
		{
			"no limits and a grant", Options{Jobs: []job.Config{granted(job.Dir{Host: inside})}}, []job.Dir{{Host: outside, Write: true}},
			[]job.Dir{{Host: filepath.Join(outside, "none")}},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.o.DataDir, tt.o.Modules = t.TempDir(), kit("ok")
			h, stop := start(t, tt.o)
			for _, d := range tt.refused {
				wantRefused(t, d.Host, h.Put(t.Context(), granted(d)), says+d.Host)
			}
			for _, d := range tt.granted {
				if err := h.Put(t.Context(), granted(d)); err != nil {
					t.Errorf("%s: %v", d.Host, err)
				}
			}
			wantRefused(t, "own data", h.Put(t.Context(), granted(job.Dir{Host: tt.o.DataDir})), says+tt.o.DataDir)
			if err := stop(); err != nil {
				t.Error(err)
			}
		})
	}
}
