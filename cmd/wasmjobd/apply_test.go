package main

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/config"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/operator"
)

// The jobs of a large file fit into requests, one by one, and mean what the file says.
func TestJobsOfALargeFile(t *testing.T) {
	t.Parallel()
	const jobs, fits = 1000, 1 << 10 // a server takes 64 KiB
	var text strings.Builder
	text.WriteString("[defaults]\ntimeout = \"1m\"\n[modules.m]\nsource = \"file:m.wasm\"\n")
	for i := range jobs {
		fmt.Fprintf(&text, "[jobs.job-%d]\nmodule = \"m\"\ncron = \"0 %d 3 * * ?\"\nshards = 2\nparam = \"%s\"\n", i, i%60, strings.Repeat("x", 40))
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "jobs.toml")
	for name, content := range map[string]string{path: text.String(), filepath.Join(dir, "m.wasm"): "wasm"} {
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	file, err := config.Parse("job.toml", []byte(text.String()), config.Options{Elsewhere: true})
	if err != nil {
		t.Fatal(err)
	}
	term := &terminal{out: new(bytes.Buffer), err: new(bytes.Buffer)}
	all, err := textsIn(t.Context(), term, path)
	if err != nil || len(all) != jobs {
		t.Fatalf("%d jobs, %v", len(all), err)
	}
	c := &cobra.Command{}
	c.SetContext(t.Context())
	created, err := (&createFlags{from: path}).text(c, term, all[7].Name)
	if err != nil || created != all[7] {
		t.Errorf("created as %+v, %v, applied as %+v", created, err, all[7])
	}
	for i, one := range all {
		got, err := defineIn(config.Registry{})(one)
		want := file.Jobs[i]
		want.ModuleDigest = one.Digest
		if err != nil || len(one.TOML) > fits || one.Digest == "" || !reflect.DeepEqual(got, want) {
			t.Fatalf("%s: %d bytes, %v\n%+v\n%+v", one.Name, len(one.TOML), err, got, want)
		}
	}
}

// A text says of a job what it has, and for the rest the registry counts: a shared one keeps what the text does not
// mention, and the text of a new job means the registry's layout, that of another job the layout which that has.
func TestTextsOfJobsForARegistry(t *testing.T) {
	t.Parallel()
	r, err := host.OpenRegistry(t.TempDir(), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	op, err := operator.Open(t.Context(), r, "jobs")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = op.Close() })
	text := func(rest string) operator.JobText {
		return operator.JobText{Name: "x", Digest: strings.Repeat("0a", 32), TOML: "[modules.m]\nsource = \"file:m.wasm\"\n[jobs.x]\nmodule = \"m\"\ncron = \"0 0 2 * * ?\"\n" + rest}
	}
	shared := config.Registry{Kind: config.ZooKeeper, Layout: job.Layout3}
	if _, err := op.CreateJob(t.Context(), text("shards = 8\ndescription = \"nightly\"\n"), defineIn(shared)); err != nil {
		t.Fatal(err)
	}
	shared.Layout = job.Layout21
	p, err := op.ApplyJob(t.Context(), text("timeout = \"1m\"\n"), defineIn(shared))
	if err != nil || p.Action != operator.PlanChanges || len(p.Keys) != 1 || p.Overwrite {
		t.Errorf("%+v, %v", p, err)
	}
	now, err := op.Job(t.Context(), "x")
	if err != nil {
		t.Fatal(err)
	}
	if c := now.Config; c.Layout != job.Layout3 || c.Shards != 8 || c.Description != "nightly" || c.Timeout != time.Minute || c.Overwrite {
		t.Errorf("%+v", c)
	}
	_, err = op.ApplyJob(t.Context(), text("layout = \"2.1\"\n"), defineIn(shared))
	if host.CodeOf(err) != host.Refused || !strings.Contains(err.Error(), "it is a job of layout 3, in the text one of layout 2.1") {
		t.Errorf("another layout: %v", err)
	}

	for of, want := range map[string]bool{"": false, "[registry]\nnamespace = \"n\"\n": false, "[registry]\nkind = \"embedded\"\n": true} {
		if c, err := defineIn(shared)(text(of)); err != nil || c.Overwrite != want {
			t.Errorf("%q for ZooKeeper: overwrite %v, %v", of, c.Overwrite, err)
		}
	}
	_, err = op.ApplyJob(t.Context(), text("allow.dirs = [\"ro:data:/in\"]\n"), defineIn(shared))
	if host.CodeOf(err) != host.Invalid || !strings.Contains(err.Error(), `the server's directory "data" is relative`) {
		t.Errorf("a directory of no folder: %v", err)
	}
	if c, err := defineIn(config.Registry{Kind: config.Embedded})(text("")); err != nil || !c.Overwrite {
		t.Errorf("for an embedded registry: overwrite %v, %v", c.Overwrite, err)
	}
}
