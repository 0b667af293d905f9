package sandbox

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/wasmjob/wasmjob/host/job"
)

// playground creates a directory to grant, and one beside it as a target for escapes.
func playground(t *testing.T) (inside, outside string) {
	t.Helper()
	top := t.TempDir()
	inside, outside = filepath.Join(top, "in"), filepath.Join(top, "out")
	for _, err := range []error{
		os.MkdirAll(filepath.Join(inside, "sub"), 0o755),
		os.MkdirAll(outside, 0o755),
		os.WriteFile(filepath.Join(inside, "a.txt"), []byte("aaa"), 0o644),
		os.WriteFile(filepath.Join(inside, "sub", "b.txt"), []byte("bbb"), 0o644),
		os.WriteFile(filepath.Join(outside, "secret"), []byte("secret"), 0o644),
		os.Symlink(filepath.Join(outside, "secret"), filepath.Join(inside, "absolute")),
		os.Symlink("../out/secret", filepath.Join(inside, "relative")),
		os.Symlink("../out", filepath.Join(inside, "dirlink")),
		os.Symlink("sub/b.txt", filepath.Join(inside, "within")),
		os.Symlink("loop", filepath.Join(inside, "loop")),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return inside, outside
}

func testFiles(t *testing.T, run runner) {
	inside, outside := playground(t)
	c := job.Call{Config: job.Config{Allow: job.Allow{Dirs: []job.Dir{{Host: inside, Guest: "/data"}}}}}
	wantResult(t, run(c, "read", "/data/a.txt"), "aaa")
	wantResult(t, run(c, "read", "/data/sub/b.txt"), "bbb")
	wantResult(t, run(c, "read", "/data/within"), "bbb")
	wantResult(t, run(c, "walk", "/data"), ".:d a.txt:- absolute:L dirlink:L loop:L relative:L sub:d sub/b.txt:- within:L")
	for _, name := range []string{
		"/data/absolute", "/data/relative", "/data/dirlink/secret", "/data/../out/secret", "/data/loop",
		"/data/sub/../../out/secret", filepath.Join(outside, "secret"), "/etc/passwd", "/data/none", "out/secret",
	} {
		out := run(c, "read", name)
		if out.Verdict != job.Failure || strings.Contains(string(out.Result), "secret") || strings.Contains(out.Error, "root:") {
			t.Errorf("read %s: %s %q", name, out.Verdict, out.Result)
		}
	}
	for _, do := range []string{"create", "append", "remove", "symlink"} {
		for _, name := range []string{"/data/a.txt", "/data/new"} {
			if out := run(c, do, name); out.Verdict != job.Failure {
				t.Errorf("%s %s: %s", do, name, out.Verdict)
			}
		}
	}
	if b, err := os.ReadFile(filepath.Join(inside, "a.txt")); err != nil || string(b) != "aaa" {
		t.Errorf("a.txt is now %q, %v", b, err)
	}
	if _, err := os.Lstat(filepath.Join(inside, "new")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("new: %v", err)
	}
	// Without a grant no directory exists.
	expect(t, run(job.Call{}, "read", "/data/a.txt"), job.Failure, "")

	out := run(c, "open many", "/data/a.txt")
	if n, _ := strconv.Atoi(string(out.Result)); n < DefaultOpenFiles/2 || n > DefaultOpenFiles {
		t.Errorf("%q files open at once (%s)", out.Result, out.Error)
	}
	c.Config.Limits.OpenFiles = 5
	if n, _ := strconv.Atoi(string(run(c, "open many", "/data/a.txt").Result)); n < 2 || n > 5 {
		t.Errorf("%d files open at once, the limit is 5", n)
	}
	testWriting(t, run)
}

// testWriting performs the file operations of a guest's standard library.
func testWriting(t *testing.T, run runner) {
	inside, outside := playground(t)
	other := t.TempDir()
	c := job.Call{Config: job.Config{Allow: job.Allow{Dirs: []job.Dir{
		{Host: inside, Guest: "/data", Write: true}, {Host: other, Guest: "/other", Write: true}, {Host: outside, Guest: "/read"},
	}}}}
	wantResult(t, run(c, "play", "/data"), "678 1AB 10 true 01ABC567+end 1000000000 2")
	if b, err := os.ReadFile(filepath.Join(inside, "moved")); err != nil || string(b) != "01ABC567+end" {
		t.Errorf("moved is %q, %v", b, err)
	}
	for _, do := range []string{"create", "append", "truncate", "touch", "remove"} {
		if out := run(c, do, "/data/moved"); out.Verdict != job.OK {
			t.Errorf("%s: %s", do, out.Error)
		}
		for _, name := range []string{"/data/absolute", "/data/relative", "/data/dirlink/secret", "/data/../out/secret", "/read/secret", filepath.Join(outside, "secret")} {
			if do == "remove" && (strings.HasSuffix(name, "absolute") || strings.HasSuffix(name, "relative")) {
				continue // the link itself may be removed
			}
			if out := run(c, do, name); out.Verdict != job.Failure {
				t.Errorf("%s %s: %s", do, name, out.Verdict)
			}
		}
	}
	for _, what := range []string{
		"link /data/a.txt>/data/hard", "symlink /data/soft", "symlink /data/sub/soft", "rename /data/a.txt>/other/a.txt", "rename /data/a.txt>/read/a.txt",
		"rename /read/secret>/data/secret", "rename /data/within>/data/sub/within", "rename /data/a.txt>/data/dirlink/a.txt", "mkdir /data/dirlink/new", "mkdir /read/new",
		"remove /data", "rename /data>/data/sub/data",
	} {
		do, arg, _ := strings.Cut(what, " ")
		if out := run(c, do, arg); out.Verdict != job.Failure {
			t.Errorf("%s: %s", what, out.Verdict)
		}
	}
	if b, err := os.ReadFile(filepath.Join(outside, "secret")); err != nil || string(b) != "secret" {
		t.Errorf("secret is now %q, %v", b, err)
	}
	for _, dir := range []string{outside, other} {
		if entries, err := os.ReadDir(dir); err != nil || len(entries) > 1 {
			t.Errorf("%s has now %v, %v", dir, entries, err)
		}
	}
}

func TestGrantsThatCannotBe(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, tt := range []struct {
		dir  job.Dir
		text string
	}{
		{job.Dir{Host: filepath.Join(dir, "none"), Guest: "/data"}, "open granted directory"},
		{job.Dir{Host: dir, Guest: "data"}, "absolute path"},
		{job.Dir{Host: dir, Guest: "/data/../x"}, "absolute path"},
	} {
		out := runOnce(t, (&builder{}).job(i32(0)), job.Call{Config: job.Config{Allow: job.Allow{Dirs: []job.Dir{tt.dir}}}})
		expect(t, out, job.Failure, tt.text)
	}
}

// A link between a grantable directory and the granted one is not followed.
func TestDirsAreReachedFromWhatMayBeGranted(t *testing.T) {
	t.Parallel()
	inside, outside := playground(t)
	link := filepath.Join(t.TempDir(), "top")
	for _, err := range []error{os.Symlink(inside, link), os.Symlink("sub", filepath.Join(inside, "near")), os.MkdirAll(filepath.Join(inside, "sub", "deep"), 0o755)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	read := []job.Dir{{Host: inside}, {Host: filepath.Join(inside, "sub", "deep"), Write: true}}
	for _, tt := range []struct {
		dir  job.Dir
		most []job.Dir
		want string // in the error
	}{
		{job.Dir{Host: inside}, read, ""},
		{job.Dir{Host: filepath.Join(inside, "sub", "deep")}, read, ""},
		{job.Dir{Host: filepath.Join(inside, "sub", "deep"), Write: true}, read, ""},
		{job.Dir{Host: link}, []job.Dir{{Host: link}}, ""}, // the operator's own link
		{job.Dir{Host: filepath.Join(inside, "dirlink")}, nil, ""},
		{job.Dir{Host: filepath.Join(inside, "dirlink")}, read, "dirlink"},
		{job.Dir{Host: filepath.Join(inside, "near")}, read, "is a link"},
		{job.Dir{Host: filepath.Join(inside, "near", "deep")}, read, "is a link"},
		{job.Dir{Host: filepath.Join(inside, "sub", "none")}, read, "none"},
		{job.Dir{Host: inside, Write: true}, read, "the server's grants do not include it"},
		{job.Dir{Host: outside}, read, "the server's grants do not include it"},
		{job.Dir{Host: inside + "side"}, read, "the server's grants do not include it"},
		{job.Dir{Host: inside}, []job.Dir{}, "the server's grants do not include it"},
	} {
		root, err := openDir(tt.dir, tt.most)
		if err == nil {
			err = root.Close()
		}
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%+v of %+v: %v; want %q", tt.dir, tt.most, err, tt.want)
		}
	}
}

// A grant that was valid when it was checked may reach the server's own data by the time
// it is opened.
func TestWhatIsPrivateIsNotOpened(t *testing.T) {
	t.Parallel()
	inside, outside := playground(t)
	e, err := New(Options{Private: []job.Private{{Path: outside, What: "its data"}, {Path: filepath.Join(inside, "a.txt"), What: "a file", Readable: true}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	m := load(t, e, (&builder{}).job(i32(0)))
	for _, tt := range []struct {
		dir     job.Dir
		verdict job.Verdict
		says    string
	}{
		{job.Dir{Host: inside}, job.OK, ""},
		{job.Dir{Host: inside, Write: true}, job.Failure, "no job may write to a file"},
		{job.Dir{Host: filepath.Join(inside, "sub"), Write: true}, job.OK, ""},
		{job.Dir{Host: outside}, job.Failure, "no job may reach its data"},
		{job.Dir{Host: filepath.Join(inside, "dirlink")}, job.Failure, "no job may reach its data"},
		{job.Dir{Host: filepath.Dir(outside)}, job.Failure, "open granted directory " + filepath.Dir(outside) + ": no job may reach its data"},
	} {
		tt.dir.Guest = "/data"
		out := e.Run(t.Context(), m, job.Call{Config: job.Config{Allow: job.Allow{Dirs: []job.Dir{tt.dir}}}})
		if out.Verdict != tt.verdict || !strings.Contains(out.Error, tt.says) {
			t.Errorf("%+v: %s, %s", tt.dir, out.Verdict, out.Error)
		}
	}
}
