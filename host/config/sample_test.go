package config

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

const sample = "../../jobs.toml"

func TestTheSampleIsValid(t *testing.T) {
	t.Parallel()
	f, err := Load([]string{sample}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	root := abs(t, "../..")
	if len(f.Jobs) != 2 || f.Jobs[0].Name != "hello" || f.Jobs[1].Name != "integrity" {
		t.Fatalf("jobs: %v", f.Jobs)
	}
	if got := f.Jobs[1]; got.Allow.Dirs[0].Host != filepath.Join(root, "host") || got.Timeout != time.Minute || !got.Failover {
		t.Errorf("integrity: %+v", got)
	}
	if got, want := f.Modules[0].Path, filepath.Join(root, "build/hello-go.wasm"); got != want {
		t.Errorf("module at %s, want %s", got, want)
	}
}

// The sample has an example of every key, and the examples are valid, too.
func TestTheSampleShowsEveryKey(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(sample)
	if err != nil {
		t.Fatal(err)
	}
	whole := regexp.MustCompile(`(?m)^#([^ \n])`).ReplaceAllString(string(text), "$1")
	whole = strings.Replace(whole, "include = ", "#", 1)       // the included files do not exist
	whole = strings.Replace(whole, `kind = "embedded"`, "", 1) // the sample sets another kind below
	if _, err := Parse(sample, []byte(whole), Options{}); err != nil {
		t.Errorf("the examples are not valid:\n%v", err)
	}
	r := newReader(Options{})
	r.add(source{name: "sample", text: whole})
	for _, k := range schema() {
		pattern := regexp.MustCompile("^" + strings.ReplaceAll(regexp.QuoteMeta(k.path), `\*`, `[^.]+`) + "$")
		shown := k.path == "include" && strings.Contains(string(text), "#include = ")
		for path := range r.values {
			shown = shown || pattern.MatchString(path)
		}
		if k.release == "" && !shown {
			t.Errorf("the sample does not show %s", k.path)
		}
	}
}
