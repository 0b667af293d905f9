package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The examples that the repository has as built files pass their cases.
func TestExamples(t *testing.T) {
	t.Parallel()
	all, err := filepath.Glob("../../plugins/examples/*/*.wasm")
	if err != nil || len(all) < 5 {
		t.Fatalf("modules %q, %v", all, err)
	}
	for _, module := range all {
		var out bytes.Buffer
		cases := filepath.Join(filepath.Dir(module), "cases.toml")
		if code := run(t.Context(), []string{"test", module, cases}, os.Environ(), strings.NewReader(""), &out, &out); code != exitOK {
			t.Errorf("%s: exit code %d\n%s", module, code, &out)
		}
	}
}
