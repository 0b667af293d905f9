package config

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// write creates files in a new folder, and returns the folder.
func write(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// loadFaults loads the named files in dir and returns the problems, without dir in their paths.
func loadFaults(t *testing.T, dir string, names ...string) []string {
	t.Helper()
	var paths []string
	for _, name := range names {
		paths = append(paths, filepath.Join(dir, name))
	}
	f, err := Load(paths, Options{})
	lines := linesOf(t, f, err)
	for i, line := range lines {
		lines[i] = strings.ReplaceAll(line, dir+"/", "")
	}
	return lines
}

func TestIncludedFilesAddAndOverride(t *testing.T) {
	t.Parallel()
	dir := write(t, map[string]string{
		"main.toml":     "include = ['jobs.d/*.toml', 'last.toml']\n[server]\ndata_dir = 'd'\ndrain_timeout = '1s'\n" + small,
		"jobs.d/b.toml": "[jobs.b]\nmodule = 'm'\nschedule = 'manual'\n[server]\ndrain_timeout = '3s'\n",
		"jobs.d/a.toml": "[modules.n]\nsource = 'n.wasm'\n[jobs.a]\nmodule = 'n'\nschedule = 'manual'\n[server]\ndrain_timeout = '2s'\n",
		"last.toml":     "[history]\ndsn = 'sqlite://h.db'\n",
	})
	f, err := Load([]string{filepath.Join(dir, "main.toml")}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, j := range f.Jobs {
		got = append(got, j.Name)
	}
	for _, m := range f.Modules {
		got = append(got, m.Name, m.Path)
	}
	got = append(got, f.Server.DataDir, f.History.Path, f.Server.DrainTimeout.String())
	want := []string{
		"a", "b", "j",
		"m", dir + "/m.wasm", "n", dir + "/jobs.d/n.wasm",
		dir + "/d", dir + "/h.db", (3 * time.Second).String(),
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestAJobIsDefinedInOnePlace(t *testing.T) {
	t.Parallel()
	dir := write(t, map[string]string{
		"main.toml": "include = ['x.toml']\n" + small,
		"x.toml":    "[jobs.other]\nmodule = 'm'\nschedule = 'manual'\n[jobs.j]\nmodule = 'gone'\n[modules.m]\nsource = 'y'\n",
	})
	want := []string{
		"x.toml:4:7: jobs.j: already defined at main.toml:4:7 (give one of them another name)",
		"x.toml:6:10: modules.m: already defined at main.toml:2:10 (give one of them another name)",
	}
	if d := cmp.Diff(want, loadFaults(t, dir, "main.toml")); d != "" {
		t.Error(d)
	}
}

func TestASyntaxErrorDoesNotHideOtherFiles(t *testing.T) {
	t.Parallel()
	dir := write(t, map[string]string{
		"main.toml": "include = ['*.toml']\n[jobs.j]\nmodule = 'm'\nshards = 0\n",
		"a.toml":    "[modules.m\n",
		"b.toml":    "[sever]\n",
	})
	// a.toml, which is broken, may define the module, so it is not reported as unknown.
	want := []string{
		`main.toml:2:7: jobs.j: cron is missing (write cron = "0 0 2 * * ?", or schedule = "manual" for a job that only a trigger runs)`,
		"main.toml:4:10: jobs.j.shards: 0 is out of range (write 1 to 100000)",
		"a.toml:1:11: expected '.' or ']' to end table name, but got '\\n' instead",
		`b.toml:1:2: sever: unknown key (did you mean "server"?)`,
	}
	if d := cmp.Diff(want, loadFaults(t, dir, "main.toml")); d != "" {
		t.Error(d)
	}
}

func TestFilesThatCannotBeRead(t *testing.T) {
	t.Parallel()
	dir := write(t, map[string]string{
		"main.toml": "include = ['none/*.toml', 'gone.toml', '[']\n",
		"deep.toml": "include = ['main2.toml']\n",
		// Included files cannot include others.
		"main2.toml": "include = ['deep.toml']\n",
		"big.toml":   "#" + strings.Repeat("x", maxFileBytes),
	})
	want := []string{
		"main.toml:1:27: include: gone.toml does not exist (check the path)",
		`main.toml:1:40: include: not a pattern (write a path like "jobs.d/*.toml")`,
		"missing.toml: cannot be read: no such file or directory (check the path and its permissions)",
		"big.toml: the file is larger than 1 MiB (split it with include)",
		"main2.toml:1:11: include: an included file cannot include others (name them in deep.toml)",
	}
	got := loadFaults(t, dir, "main.toml", "missing.toml", "big.toml", "deep.toml")
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestSeveralFilesAreOneConfiguration(t *testing.T) {
	t.Parallel()
	dir := write(t, map[string]string{
		"modules.toml": "[modules.m]\nsource = 'm.wasm'\n",
	})
	f, err := Load([]string{filepath.Join(dir, "modules.toml"), "-"}, Options{
		Stdin: strings.NewReader("[jobs.j]\nmodule = 'm'\nschedule = 'manual'\n"),
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(f.Jobs) != 1 || f.Modules[0].Path != filepath.Join(dir, "m.wasm") {
		t.Errorf("got jobs %v, modules %v", f.Jobs, f.Modules)
	}
}

func TestJobsAfterThoseOfOtherFiles(t *testing.T) {
	t.Parallel()
	text := func(after string) []byte {
		return []byte("[modules.m]\nsource = 'file:m.wasm'\n[jobs.a]\nmodule = 'm'\nafter = [" + after + "]\n[jobs.b]\nmodule = 'm'\nafter = ['a']\n")
	}
	for after, want := range map[string]bool{"'load'": true, "'load', 'b'": false, "'a'": false} {
		if f, err := Parse("t.toml", text(after), Options{AfterAny: true}); (err == nil) != want || want && f.Jobs[0].After[0] != "load" {
			t.Errorf("after %s: %v", after, err)
		}
		if _, err := Parse("t.toml", text(after), Options{}); err == nil {
			t.Errorf("after %s: taken for any file", after)
		}
	}
}

func TestProblemsAreJSON(t *testing.T) {
	t.Parallel()
	_, err := Parse("t.toml", []byte(small+"timout = 1\n"), Options{})
	got, jsonErr := json.Marshal(err)
	if jsonErr != nil {
		t.Fatal(jsonErr)
	}
	want := `[{"file":"t.toml","line":6,"column":1,"path":"jobs.j.timout","code":"key_meant","params":{"meant":"\"timeout\""},"message":"unknown key","hint":"did you mean \"timeout\"?"}]`
	if string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestLineBreaksInNamesStayInOneLine(t *testing.T) {
	t.Parallel()
	for _, line := range faults(t, "[jobs.\"a\\nb\\u001b[31m\"]\nmodule = \"x\\ny\"\n[\"\\n\"]\n") {
		if !strings.HasPrefix(line, "t.toml:") || strings.Contains(line, "\x1b") {
			t.Errorf("line %q", line)
		}
	}
}
