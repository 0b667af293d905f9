package config

import (
	"slices"
	"strings"
	"testing"
)

// Each key outside of jobs and modules applies at the start, and NeedsRestart reports a change
// of it. The layout of the registry is a setting of jobs.
func TestNeedsRestartKnowsEveryKey(t *testing.T) {
	t.Parallel()
	var keys []string
	for _, s := range fixed() {
		keys = append(keys, s.key)
	}
	for _, k := range schema() {
		table, _, _ := strings.Cut(k.path, ".")
		if !slices.Contains([]string{"server", "admin", "registry", "host", "history"}, table) || k.release != "" || k.path == "registry.layout" {
			continue
		}
		if !slices.ContainsFunc(keys, func(known string) bool { return k.path == known || strings.HasPrefix(k.path, known+".") }) {
			t.Errorf("%s is not among them", k.path)
		}
	}
}

func TestNeedsRestart(t *testing.T) {
	t.Parallel()
	parse := func(text string) *File {
		f, err := Parse("/etc/jobs.toml", []byte(text), Options{})
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	running := parse("[server]\ndata_dir = \"a\"\n[host]\nworkers = 3\nsecrets = { s = \"env:S\" }\n[registry]\nkind = \"zookeeper\"\nservers = [\"a:1\"]\n[jobs.j]\nmodule = \"m\"\nschedule = \"manual\"\n[modules.m]\nsource = \"m.wasm\"\n")
	next := parse("[server]\ndata_dir = \"b\"\nlabels = { zone = \"eu\" }\n[host]\nworkers = 4\nsecrets = { s = \"env:T\" }\nallow = { random = true }\n[registry]\nkind = \"zookeeper\"\nservers = [\"a:1\", \"b:1\"]\n[jobs.k]\nmodule = \"m\"\nschedule = \"manual\"\n[modules.m]\nsource = \"m.wasm\"\n")
	want := []string{"server.data_dir", "server.labels", "registry.servers", "host.allow", "host.workers", "host.secrets", "history.dsn"}
	if got := running.NeedsRestart(next); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	now := running.With(next)
	if got := running.NeedsRestart(now); len(got) != 0 || now.Jobs[0].Name != "k" || running.Jobs[0].Name != "j" {
		t.Errorf("goes by %+v, changed in %q", now, got)
	}
}
