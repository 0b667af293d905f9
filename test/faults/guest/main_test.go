package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	wasmjob "github.com/wasmjob/wasmjob/abi/go"
)

// words returns the first words of the lines of a file.
func words(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var words []string
	for line := range strings.Lines(string(text)) {
		words = append(words, strings.Fields(line)[0])
	}
	return strings.Join(words, " ")
}

// fake returns a fake host that grants everything that the job uses.
func fake(t *testing.T, param string) (*wasmjob.Fake, string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "lines")
	return &wasmjob.Fake{
		RunID: "j/0/1000", Attempt: 1, Fence: 7, Instance: "10.0.0.1@-@1", Param: &param,
		Config: map[string]string{"file": file}, Clock: time.UnixMilli(5_000), State: map[string]string{},
	}, file
}

func TestWork(t *testing.T) {
	t.Parallel()
	f, file := fake(t, "120")
	if code := f.Run(work); code != 0 {
		t.Fatalf("code %d: %s", code, f.Err)
	}
	if got := words(t, file); got != "start beat beat beat end" {
		t.Errorf("told %s", got)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if first, _, _ := strings.Cut(string(text), "\n"); first != "start j/0/1000 1 7 10.0.0.1@-@1 5000" {
		t.Errorf("first line %q", first)
	}
}

func TestWorkStops(t *testing.T) {
	t.Parallel()
	f, file := fake(t, "120")
	asked := 0
	f.Stop = func() wasmjob.Reason {
		if asked++; asked > 1 {
			return wasmjob.StopSessionLost
		}
		return wasmjob.Continue
	}
	if code := f.Run(work); code == 0 {
		t.Error("a run that stopped has succeeded")
	}
	if got := words(t, file); got != "start beat stop" {
		t.Errorf("told %s", got)
	}
}

func TestFlow(t *testing.T) {
	t.Parallel()
	f, file := fake(t, "2")
	for _, next := range []string{"2", "4"} {
		if code := f.Dataflow(fetch, process); code != 0 || f.State["next"] != next {
			t.Fatalf("code %d: %s; state %v", code, f.Err, f.State)
		}
	}
	if got := words(t, file); got != "start element element end start element element end" {
		t.Errorf("told %s", got)
	}
}

func TestParameterIsRefused(t *testing.T) {
	t.Parallel()
	f, _ := fake(t, "long")
	if code := f.Run(work); code == 0 || !strings.Contains(f.Err, "parameter") {
		t.Errorf("code %d: %s", code, f.Err)
	}
}
