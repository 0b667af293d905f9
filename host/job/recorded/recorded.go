// Package recorded gives tests the answers and trees that were recorded from real ElasticJob
// and Quartz. They lie in its testdata, with a README. No package of the daemon imports it.
//
// An environment variable may name another folder to read instead, relative to the root of the
// repository unless it is absolute.
package recorded

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const (
	vectors    = "WASMJOBD_VECTORS"
	recordings = "WASMJOBD_GOLDEN"

	// earlier is the folder of recordings of earlier releases; no variable replaces it.
	earlier = "host/job/recorded/testdata/earlier"
)

// kept maps each variable to the folder to read if it is not set.
var kept = map[string]string{
	vectors:    "host/job/recorded/testdata/vectors",
	recordings: "host/job/recorded/testdata/recordings",
}

// Vectors reads a file of vectors (from $WASMJOBD_VECTORS, if set), one T per line. It fails
// the test if the file is empty, or a line has a field that T lacks, which would not be
// compared.
func Vectors[T any](t testing.TB, file string) []T {
	t.Helper()
	var all []T
	scan := bufio.NewScanner(bytes.NewReader(read(t, vectors, file)))
	scan.Buffer(nil, 1<<22)
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
	if len(all) == 0 {
		t.Fatalf("%s is empty", file)
	}
	return all
}

// Golden reads a file of recorded trees and writes (from $WASMJOBD_GOLDEN, if set).
func Golden(t testing.TB, file string) []byte {
	t.Helper()
	return read(t, recordings, file)
}

// Scenarios returns the names of the recordings in a folder such as "ej2".
func Scenarios(t testing.TB, folder string) []string {
	t.Helper()
	return names(t, dir(t, recordings)+"/"+folder)
}

// names returns the names of the recordings in a folder, without ".json".
func names(t testing.TB, folder string) []string {
	t.Helper()
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		if name, ok := strings.CutSuffix(e.Name(), ".json"); ok {
			names = append(names, name)
		}
	}
	return names
}

// read reads a file of the folder for which env is the variable.
func read(t testing.TB, env, file string) []byte {
	t.Helper()
	data, err := os.ReadFile(dir(t, env) + "/" + file)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// dir returns the folder to read from. It is deliberately not cleaned: only if a path begins
// with the module's own root does the go command notice changed files, and run a cached test
// again.
func dir(t testing.TB, env string) string {
	t.Helper()
	root, asked := Root(t), os.Getenv(env)
	if asked == "" {
		asked = kept[env]
	}
	if filepath.IsAbs(asked) {
		rel, err := filepath.Rel(root, asked)
		if err != nil {
			t.Fatal(err)
		}
		asked = rel
	}
	return root + "/" + asked
}

// Root returns the folder of go.mod.
func Root(t testing.TB) string {
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
