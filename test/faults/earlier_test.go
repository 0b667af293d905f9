package faults

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// earlier returns the path of the program of an earlier commit. It builds that program,
// and the guest, unless an earlier run has done so: an upgrade replaces servers, not the
// modules of their jobs.
func earlier(t *testing.T, commit string) string {
	t.Helper()
	if out, err := exec.Command("git", "cat-file", "-e", commit+"^{commit}").CombinedOutput(); err != nil {
		leaveOut(t, fmt.Sprintf("commit %s is not here: of a shallow clone, git fetch --unshallow gets the rest; an exported tree has no history (%v: %s)", commit, err, bytes.TrimSpace(out)))
	}
	dir, err := filepath.Abs(*buildDir)
	if err != nil {
		t.Fatal(err)
	}
	program, guest := filepath.Join(dir, "wasmjobd"), filepath.Join(dir, "guest.wasm")
	if _, err := os.Stat(guest); err == nil {
		return program
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	tree := t.TempDir()
	shell(t, "../..", "git archive "+commit+" | tar -x -C "+tree)
	shell(t, tree, "CGO_ENABLED=0 go build -o "+program+" ./cmd/wasmjobd")
	shell(t, filepath.Join(tree, "test", "faults", "guest"), "GOOS=wasip1 GOARCH=wasm CGO_ENABLED=0 "+
		"go build -buildmode=c-shared -trimpath -buildvcs=false -ldflags='-s -w -buildid=' -o "+guest+" .")
	return program
}

// shell runs a command line in a folder.
func shell(t *testing.T, dir, line string) {
	t.Helper()
	cmd := exec.Command("bash", "-euo", "pipefail", "-c", line)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", line, err, out)
	}
}
