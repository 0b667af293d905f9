package reach

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/wasmjob/wasmjob/host/job"
)

// place creates directories, a file and links of a server:
//
//	srv/data/registry   srv/out   srv/key   elsewhere -> srv/data   srv/kept -> other/deep
func place(t *testing.T) (top string, own []job.Private) {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"srv/data/registry", "srv/out/sub", "other/deep/er", "conf"} {
		if err := os.MkdirAll(filepath.Join(top, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for link, to := range map[string]string{"elsewhere": "srv/data", "srv/kept": "../other/deep", "near": "srv"} {
		if err := os.Symlink(to, filepath.Join(top, link)); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range []string{"other/key", "conf/jobs.toml"} {
		if err := os.WriteFile(filepath.Join(top, file), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return top, []job.Private{
		{Path: filepath.Join(top, "srv/data")},
		{Path: filepath.Join(top, "other/key")},
		{Path: filepath.Join(top, "srv/kept/er")}, // through a link
		{Path: filepath.Join(top, "later/data")},  // does not exist yet
		{Path: filepath.Join(top, "conf/jobs.toml"), Readable: true},
	}
}

func grants() []struct {
	dir     string
	write   bool
	refused bool
} {
	return []struct {
		dir     string
		write   bool
		refused bool
	}{
		{"srv/data", false, true}, {"srv/data/registry", false, true}, {"srv", false, true}, {".", false, true}, {"/", false, true},
		{"elsewhere", false, true}, {"elsewhere/registry", false, true}, {"near", false, true}, {"near/data", false, true},
		{"srv/out", true, false}, {"srv/out/sub", false, false}, {"near/out", true, false},
		{"other", false, true}, {"other/deep", false, true}, {"other/deep/er", false, true}, {"srv/kept", false, true},
		{"conf", false, false}, {"conf", true, true},
	}
}

func TestGrantsThatReachWhatIsPrivate(t *testing.T) {
	t.Parallel()
	top, own := place(t)
	guard := NewGuard(own)
	for _, tt := range grants() {
		dir := tt.dir
		if !filepath.IsAbs(dir) {
			dir = filepath.Join(top, dir)
		}
		if got := Find(own, job.Dir{Host: dir, Write: tt.write}); (got != nil) != tt.refused {
			t.Errorf("%s: %+v", tt.dir, got)
		}
		root, err := os.OpenRoot(dir)
		if err != nil {
			t.Fatal(err)
		}
		if err := guard.Check(root, tt.write); (err != nil) != tt.refused {
			t.Errorf("%s, opened: %v", tt.dir, err)
		}
		_ = root.Close()
	}
	if got := Find(own, job.Dir{Host: filepath.Join(top, "later")}); got == nil {
		t.Error("what is not there yet can be granted")
	}
	if got := Find(own, job.Dir{}); got != nil {
		t.Errorf("a grant that could not be read: %+v", got)
	}
}

// A directory is checked when it is opened, whatever its path led to before.
func TestDirectoriesThatWereMoved(t *testing.T) {
	t.Parallel()
	top, own := place(t)
	guard := NewGuard(own)
	out, data := filepath.Join(top, "srv/out"), filepath.Join(top, "srv/data")
	move := func(from, to string) {
		if err := os.Rename(from, to); err != nil {
			t.Fatal(err)
		}
	}
	check := func(want bool, what string) {
		root, err := os.OpenRoot(out)
		if err != nil {
			t.Fatal(err)
		}
		defer root.Close()
		if err := guard.Check(root, false); (err != nil) != want {
			t.Errorf("%s: %v", what, err)
		}
	}
	check(false, "as it was")
	move(out, out+".old")
	move(data, out)
	check(true, "the data under another name")
	move(out, data)
	move(out+".old", out)
	move(data, filepath.Join(out, "data"))
	if err := os.Symlink("out/data", data); err != nil {
		t.Fatal(err)
	}
	check(true, "the data moved in, with a link in its place")
}

func TestNothingIsPrivate(t *testing.T) {
	t.Parallel()
	root, err := os.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	for _, g := range []*Guard{nil, NewGuard(nil)} {
		if err := g.Check(root, true); err != nil {
			t.Error(err)
		}
	}
}

func BenchmarkCheck(b *testing.B) {
	dir := b.TempDir()
	guard := NewGuard([]job.Private{{Path: filepath.Join(dir, "data")}, {Path: filepath.Join(dir, "key")}})
	root, err := os.OpenRoot(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	defer root.Close()
	for b.Loop() {
		if err := guard.Check(root, false); err != nil {
			b.Fatal(err)
		}
	}
}
