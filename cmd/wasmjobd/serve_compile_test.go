package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

const slowTOML = `schema = 1
[server]
data_dir = "data"
[modules.slow]
source = "file:slow.wasm"
[modules.quick]
source = "file:quick.wasm"
[jobs.slow]
module = "slow"
cron = "* * * * * ?"
[jobs.quick]
module = "quick"
cron = "* * * * * ?"
`

// A server that was killed while it compiled a module compiles it in a separate process when it
// starts again. If that process dies, too, the module is refused while its neighbour runs on; a
// retry has it compiled after all.
func TestServeSurvivesWhatItCompiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	copyModule(t, dir, "quick", "ok", nil)
	copyModule(t, dir, "slow", "ok", slowToCompile)
	if err := os.WriteFile(filepath.Join(dir, "jobs.toml"), []byte(slowTOML), 0o600); err != nil {
		t.Fatal(err)
	}
	d := startServe(t, dir)
	binary, err := os.ReadFile(filepath.Join(dir, "slow.wasm"))
	if err != nil {
		t.Fatal(err)
	}
	slow := fmt.Sprintf("%x", sha256.Sum256(binary))
	await(t, func() bool {
		return slices.Equal(trialsIn(t, dir), []string{slow}) && strings.Contains(d.errors.String(), "joined as")
	})
	if err := d.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	d.end(t)

	d = startServe(t, dir)
	var compiler int
	await(t, func() bool { compiler = compilerOf(d.Process.Pid); return compiler != 0 })
	if err := syscall.Kill(compiler, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	var refused faultLine
	for refused.Event != "module" {
		if !d.events.Scan() {
			t.Fatalf("no event of the module; standard error:\n%s", d.errors)
		}
		if err := json.Unmarshal(d.events.Bytes(), &refused); err != nil {
			t.Fatal(err)
		}
	}
	if !strings.Contains(refused.Reason, "killed") {
		t.Errorf("event: %+v", refused)
	}
	d.until(t, func(e eventLine) bool { return e.Job == "quick" && e.Event == "end" && e.State == "succeeded" })
	d.until(t, func(e eventLine) bool { return e.Job == "slow" && e.Event == "end" && e.State == "failed" })

	if out := verb(t, dir, exitInvalid, "validate", "--modules"); !strings.Contains(out, "jobs.slow.module: module slow: ") || strings.Contains(out, "jobs.quick: ") {
		t.Errorf("what this server refuses is not told:\n%s", out)
	}
	verb(t, dir, exitNotFound, "module", "retry", "x"+refused.Digest)
	verb(t, dir, exitOK, "module", "retry", refused.Digest[:8])
	d.until(t, func(e eventLine) bool { return e.Job == "slow" && e.Event == "end" && e.State == "succeeded" })
	if left := trialsIn(t, dir); len(left) > 0 {
		t.Errorf("left: %s", left)
	}
	if err := d.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if s := d.end(t); s.ExitStatus() != exitOK || s.Signaled() {
		t.Errorf("ended by %v; standard error:\n%s", s, d.errors)
	}
}

// await waits for something that another process does.
func await(t *testing.T, done func() bool) {
	t.Helper()
	again, given := time.NewTicker(5*time.Millisecond), time.After(time.Minute)
	defer again.Stop()
	for !done() {
		select {
		case <-again.C:
		case <-given: // long after it should have come
			t.Fatal("it did not come")
		}
	}
}

// trialsIn returns the digests of the modules that are being compiled, or were when a server
// died.
func trialsIn(t *testing.T, dir string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "data", "cache", "trials", "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	for i, f := range files {
		files[i] = strings.TrimSuffix(filepath.Base(f), ".json")
	}
	return files
}

// compilerOf returns the process that compiles a module for a server; 0 if there is none.
func compilerOf(server int) int {
	threads, err := filepath.Glob(filepath.Join("/proc", strconv.Itoa(server), "task", "*", "children"))
	if err != nil {
		return 0
	}
	for _, thread := range threads {
		children, _ := os.ReadFile(thread) // it may be gone
		for child := range strings.FieldsSeq(string(children)) {
			line, err := os.ReadFile(filepath.Join("/proc", child, "cmdline"))
			if pid, numErr := strconv.Atoi(child); err == nil && numErr == nil && bytes.Contains(line, []byte(compileVerb)) {
				return pid
			}
		}
	}
	return 0
}
