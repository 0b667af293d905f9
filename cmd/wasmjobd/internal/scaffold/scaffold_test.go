package scaffold

import (
	"errors"
	"flag"
	"fmt"
	"go/format"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "pack the SDKs anew")

// sources are the files of each SDK that projects get.
var sources = map[string][]string{
	"go":             {"*.go", "go.mod"},
	"rust":           {"*.rs", "Cargo.toml", "README.md"},
	"assemblyscript": {"*.ts", "*.mjs", "asconfig*.json", "package.json", "README.md"},
	"c":              {"*.h", "README.md"},
}

// The packed archive matches abi/.
func TestSDK(t *testing.T) {
	var files []file
	for _, sdk := range slices.Sorted(maps.Keys(sources)) {
		files = append(files, sourcesOf(t, sdk)...)
	}
	want, err := pack("The sources of the SDKs, packed from abi/ by go generate; do not edit.\n", files)
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile("sdk.txtar", []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if sdks != want {
		t.Error("sdk.txtar is not what abi/ has: run make generate")
	}
}

func sourcesOf(t *testing.T, sdk string) (files []file) {
	t.Helper()
	root := filepath.Join("..", "..", "..", "..", "abi", sdk)
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		if d.IsDir() {
			if slices.Contains([]string{"anyhow", "conformance", "test", "target", "node_modules"}, rel) {
				return filepath.SkipDir
			}
			return nil
		}
		taken := slices.ContainsFunc(sources[sdk], func(pattern string) bool { ok, _ := path.Match(pattern, d.Name()); return ok })
		if !taken || strings.HasSuffix(rel, "_test.go") {
			return nil
		}
		text, err := os.ReadFile(name)
		files = append(files, file{sdk + "/" + rel, string(text)})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func TestFiles(t *testing.T) {
	t.Parallel()
	wanted := map[string][]string{
		"rust": {"Cargo.toml", "wasmjob/Cargo.toml", "wasmjob/src/lib.rs"}, "go": {"go.mod", "job.go", "job_test.go", "wasmjob/go.mod"},
		"tinygo": {"go.mod", "job.go", "wasmjob/go.mod"}, "c": {"Makefile", "job.c", "job_test.c", "wasmjob/wasmjob.h"},
		"assemblyscript": {"package.json", "assembly/index.ts", "test/job.test.mjs", "wasmjob/package.json", "wasmjob/index.ts"},
	}
	for _, lang := range Languages() {
		for _, kind := range Kinds() {
			files, err := Project{Lang: lang, Kind: kind, Name: "my-job"}.Files()
			if err != nil {
				t.Fatal(err)
			}
			for _, name := range append(wanted[lang], "README.md", "cases.toml", ".gitignore") {
				if files[name] == "" {
					t.Errorf("%s %s has no %s", lang, kind, name)
				}
			}
			for name, text := range files {
				if strings.HasPrefix(name, "wasmjob/") {
					continue
				}
				for word := range strings.FieldsSeq(text) {
					if strings.HasPrefix(word, "@") || strings.Contains(word, "\"@") {
						t.Errorf("%s %s: %s has %s", lang, kind, name, word)
					}
				}
				if !strings.HasSuffix(name, ".go") {
					continue
				}
				if formatted, err := format.Source([]byte(text)); err != nil || string(formatted) != text {
					t.Errorf("%s %s: %s is not formatted: %v", lang, kind, name, err)
				}
			}
		}
	}
	for _, p := range []Project{{Lang: "java", Kind: "simple"}, {Lang: "go", Kind: "batch"}} {
		if _, err := p.Files(); err == nil {
			t.Errorf("there is a project %v", p)
		}
		if _, _, err := p.Commands("."); err == nil {
			t.Errorf("there is a project %v", p)
		}
	}
}

func TestCommands(t *testing.T) {
	t.Parallel()
	for dir, want := range map[string][2]string{
		"x/job":  {"(cd x/job && make)", "wasmjobd exec x/job/job.wasm --total 7"},
		".":      {"(cd . && make)", "wasmjobd exec job.wasm --total 7"},
		"a b'c$": {`(cd 'a b'\''c$' && make)`, `wasmjobd exec 'a b'\''c$/job.wasm' --total 7`},
		"-x":     {`(cd './-x' && make)`, `wasmjobd exec './-x/job.wasm' --total 7`},
	} {
		build, run, err := Project{Lang: "c", Kind: "strategy"}.Commands(dir)
		if got := [2]string{build, run}; err != nil || got != want {
			t.Errorf("%q: %q, %v", dir, got, err)
		}
	}
}

func TestNameFor(t *testing.T) {
	t.Parallel()
	for dir, want := range map[string]string{
		"report": "report", "/a/Daily Report!": "daily-report", "x/2nd": "job-2nd", "---": "job", "fn": "job-fn", "wasmjob": "job-wasmjob",
		"žluť": "lu", "馬": "job", strings.Repeat("a", 300): strings.Repeat("a", maxName), "a/b/": "b",
		strings.Repeat("a", maxName-1) + "-b": strings.Repeat("a", maxName-1), "a\nb": "a-b", "$(x)": "x",
	} {
		if got, err := NameFor(dir); err != nil || got != want {
			t.Errorf("%q: %q, %v, wanted %q", dir, got, err, want)
		}
	}
}

func TestWrite(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "new", "project")
	files := map[string]string{"a": "1", "b/c": "2"}
	if err := Write(dir, files); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(filepath.Join(dir, "b", "c")); err != nil || string(text) != "2" {
		t.Errorf("%q, %v", text, err)
	}
	if err := Write(dir, files); !errors.Is(err, ErrNotEmpty) {
		t.Errorf("wrote into a directory with files: %v", err)
	}
	if err := Write(filepath.Join(dir, "a"), files); err == nil {
		t.Error("wrote into a file")
	}
	if err := Write(t.TempDir(), files); err != nil {
		t.Errorf("did not write into an empty directory: %v", err)
	}
}

func TestArchive(t *testing.T) {
	t.Parallel()
	files := []file{{"a", "1\n\n--\n-- x\n"}, {"b/c d", "2\n"}, {"e", "\n"}}
	text, err := pack("comment\n", files)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := unpack(text); err != nil || !slices.Equal(got, files) {
		t.Errorf("%q, %v", got, err)
	}
	for _, bad := range []file{{"a", "no end"}, {"a", "-- b --\n"}, {"a", ""}} {
		if _, err := pack("", []file{bad}); err == nil {
			t.Errorf("%q was packed", bad)
		}
	}
	if _, err := unpack("-- a --\n-- a --\n"); err == nil {
		t.Error("the same file twice was unpacked")
	}
}

// pack writes an archive. It refuses files that unpack would not restore.
func pack(comment string, files []file) (string, error) {
	var b strings.Builder
	b.WriteString(comment)
	for _, f := range files {
		for line := range strings.Lines(f.text) {
			if _, ok := marker(line); ok {
				return "", fmt.Errorf("%s has a line that begins a file: %s", f.name, line)
			}
		}
		if !strings.HasSuffix(f.text, "\n") {
			return "", fmt.Errorf("%s does not end with a line end", f.name)
		}
		b.WriteString("-- " + f.name + " --\n" + f.text)
	}
	return b.String(), nil
}
