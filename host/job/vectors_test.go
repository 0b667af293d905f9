package job

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

// vectors reads a file of answers recorded from ElasticJob, one T a line. It
// skips the test if there are none, unless they were asked for, and fails it
// if the file has fewer lines than it once had or a line has other fields.
func vectors[T any](t *testing.T, file string, lines int) []T {
	t.Helper()
	dir, asked := os.LookupEnv("WASMJOBD_VECTORS")
	if !asked {
		dir = filepath.Join(root(t), "..", "shared", "vectors")
		if _, err := os.Stat(dir); err != nil {
			if os.Getenv("WASMJOBD_STRICT") == "1" {
				t.Fatalf("vectors are missing: %v", err)
			}
			t.Skipf("vectors are missing: %v", err)
		}
	}
	data, err := os.ReadFile(filepath.Join(dir, file))
	if err != nil {
		t.Fatal(err)
	}
	var all []T
	scan := bufio.NewScanner(bytes.NewReader(data))
	scan.Buffer(nil, 1<<20)
	for scan.Scan() {
		var v T
		d := json.NewDecoder(bytes.NewReader(scan.Bytes()))
		d.DisallowUnknownFields()
		if err := d.Decode(&v); err != nil {
			t.Fatalf("%s:%d: %v", file, len(all)+1, err)
		}
		all = append(all, v)
	}
	if err := scan.Err(); err != nil {
		t.Fatal(err)
	}
	if len(all) < lines {
		t.Fatalf("%s has %d lines, want at least %d", file, len(all), lines)
	}
	return all
}

// root is the directory of go.mod.
func root(t *testing.T) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for dir != filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		dir = filepath.Dir(dir)
	}
	t.Fatal("no go.mod above the test")
	return ""
}
