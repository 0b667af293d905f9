package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/wasmjob/wasmjob/host/config"
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
		got, err := defineJob(one)
		want := file.Jobs[i]
		want.ModuleDigest = one.Digest
		if err != nil || len(one.TOML) > fits || one.Digest == "" || !reflect.DeepEqual(got, want) {
			t.Fatalf("%s: %d bytes, %v\n%+v\n%+v", one.Name, len(one.TOML), err, got, want)
		}
	}
}
