package config

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/wasmjob/wasmjob/host/job"
)

// An excerpt says of its job what the whole configuration says, also to a reader without its folder, and has no
// other job.
func TestExcerpts(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(sample)
	if err != nil {
		t.Fatal(err)
	}
	const odd = "\ufeff" + `
[defaults]
timeout = "1m"
strategy_module = "deal"
[calendars.feast]
days = ["12-25"]
[modules]
a.source = "file:a.wasm"
"b c" = { source = "oci://registry.example/b:1", sha256 = "` + "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef" + `" }
deal.source = "file:deal.wasm"
unused.source = "file:unused.wasm"
[jobs.a]
module = "a"
cron = "0 0 3 * * ?"
shards = 3
param = """
two "lines"
of text \u0001 \\"""
item_params = { 0 = "x", 2 = "z" }
except = ["feast", "2026-01-01"]
config = { "a.b" = '', c = 'C:\' }
allow.env = { TZ = "$${x}" }
retry.attempts = 2
[jobs."b c"]
module = "b c"
after = ["a"]
shards = 1
limits.instance = { pool = 2, max_uses = 3 }
[jobs.c]
module = "${MODULE:-a}"
strategy_module = "d${E:-e}al"
schedule = "manual"
allow = { random = true, dirs = ["ro:da$$ta/${E:-e}:/in", "rw:/var/../srv/c:d:/out"] }
`
	for _, text := range []string{string(text), odd} {
		o := Options{Elsewhere: true, AfterAny: true}
		whole, err := Parse("/srv/jobs.toml", []byte(text), o)
		if err != nil {
			t.Fatal(err)
		}
		o.NoFile = true
		of, err := Excerpts([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range whole.Jobs {
			excerpt, err := of(want)
			if err != nil {
				t.Fatal(err)
			}
			got, err := Parse("jobs.toml", []byte(excerpt), o)
			if err != nil {
				t.Fatalf("%v\n%s", err, excerpt)
			}
			if diff := cmp.Diff([]job.Config{want}, got.Jobs, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%s\n%s", diff, excerpt)
			}
			if strings.Contains(excerpt, "unused") {
				t.Errorf("it has a module that its job does not have:\n%s", excerpt)
			}
		}
	}
	if _, err := Excerpts([]byte("[")); err == nil {
		t.Error("a text that is no TOML has excerpts")
	}
}

// An excerpt does not grow with the number of other jobs.
func TestExcerptsAreSmall(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&text, "[modules.m%d]\nsource = \"file:m\"\n[jobs.j%d]\nmodule = \"m%d\"\nschedule = \"manual\"\nshards = 1\n", i, i, i)
	}
	of, err := Excerpts([]byte(text.String()))
	if err != nil {
		t.Fatal(err)
	}
	if one, err := of(job.Config{Name: "j4999", Module: "m4999"}); err != nil || len(one) > 200 {
		t.Errorf("%d bytes, %v", len(one), err)
	}
}

// A text that comes from no file has no folder at which a directory could start.
func TestRelativeGrantsOfATextWithoutAFile(t *testing.T) {
	t.Parallel()
	text := func(dir string) []byte { return []byte(small + "allow.dirs = ['ro:/etc:/a', 'rw:" + dir + ":/b']\n") }
	o := Options{Elsewhere: true, NoFile: true}
	f, err := Parse("t.toml", text("data"), o)
	want := `t.toml:6:29: jobs.j.allow.dirs[1]: the server's directory "data" is relative`
	if all := linesOf(t, f, err); len(all) != 1 || !strings.HasPrefix(all[0], want) {
		t.Errorf("%q", all)
	}
	if f, err := Parse("t.toml", text("/srv/../data"), o); err != nil || f.Jobs[0].Allow.Dirs[1].Host != "/data" {
		t.Errorf("an absolute directory: %v", err)
	}
}
