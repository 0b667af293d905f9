// Package recorded opens, for tests, the answers and trees that were recorded
// from real ElasticJob and Quartz. They lie beside the repository, not in it.
// No package of the daemon imports it.
//
// A folder is named by an environment variable, relative to the root of the
// repository if it is not absolute. If the variable is set, a missing file
// fails the test; if not, a missing folder skips it, unless WASMJOBD_STRICT=1.
package recorded

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

// Vectors reads a file of vectors (WASMJOBD_VECTORS, default ../shared/vectors),
// one T a line. It fails the test if the file has no line, or a line has a
// field that T lacks: an answer nobody compares.
func Vectors[T any](t testing.TB, file string) []T {
	t.Helper()
	var all []T
	scan := bufio.NewScanner(bytes.NewReader(read(t, "WASMJOBD_VECTORS", "vectors", file)))
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

// Golden reads a file of recorded trees and writes (WASMJOBD_GOLDEN, default
// ../shared/golden).
func Golden(t testing.TB, file string) []byte {
	t.Helper()
	return read(t, "WASMJOBD_GOLDEN", "golden", file)
}

func read(t testing.TB, env, folder, file string) []byte {
	t.Helper()
	root := Root(t)
	dir, asked := os.LookupEnv(env)
	if asked = asked && dir != ""; !asked {
		dir = filepath.Join("..", "shared", folder)
	}
	if filepath.IsAbs(dir) {
		rel, err := filepath.Rel(root, dir)
		if err != nil {
			t.Fatal(err)
		}
		dir = rel
	}
	// Not cleaned on purpose: only of a path that begins with the module's own
	// root does the go command notice that the file changed, and run the test
	// again.
	path := root + "/" + dir + "/" + file
	data, err := os.ReadFile(path)
	if os.IsNotExist(err) && !asked && os.Getenv("WASMJOBD_STRICT") != "1" {
		if _, err := os.Stat(root + "/" + dir); os.IsNotExist(err) {
			t.Skipf("left out: no %s beside the repository", folder)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// Root is the folder of go.mod.
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
