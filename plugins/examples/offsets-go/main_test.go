package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	wasmjob "github.com/wasmjob/wasmjob/abi/go"
)

func TestJournal(t *testing.T) {
	t.Parallel()
	dir, name := t.TempDir(), "north.txt"
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	f := &wasmjob.Fake{Param: &name, Config: map[string]string{"dir": dir}, State: map[string]string{}}
	step := func(what string, code int32, offset, total string) {
		t.Helper()
		if got := f.Dataflow(fetch, process); got != code || f.State["offset"] != offset || f.State["total"] != total {
			t.Errorf("%s: code %d, %s, state %v", what, got, f.Err, f.State)
		}
	}
	write("pears 12\r\nplums 3\nnonsense\nfigs")
	step("three lines", 0, "27", "15")
	if f.Handled != [3]int{2, 1, 0} || string(f.Result) != "15" || f.Metrics["amount"] != 15 {
		t.Errorf("handled %v, result %s, metrics %v", f.Handled, f.Result, f.Metrics)
	}
	step("the last line is not ended", 3, "27", "15")
	write("pears 12\r\nplums 3\nnonsense\nfigs 1\nfigs 1\nfigs 1\n")
	f.FetchCount = 2
	step("two lines of three", 0, "41", "17")
	f.Streaming = true
	step("to the end", 0, "48", "18")
	write("kiwis -8\n")
	step("a new journal", 0, "9", "10")
	if last := f.Logs[len(f.Logs)-1]; !strings.Contains(last, "from its beginning") {
		t.Errorf("logged %q", last)
	}
}

func TestWithoutAJournal(t *testing.T) {
	t.Parallel()
	name := "none.txt"
	for want, f := range map[string]*wasmjob.Fake{
		"no parameter":     {},
		"open the journal": {Param: &name},
	} {
		if code := f.Dataflow(fetch, process); code != 1 || !strings.Contains(f.Err, want) {
			t.Errorf("%s: code %d, %s", want, code, f.Err)
		}
	}
}
