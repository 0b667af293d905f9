package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// programOf returns the path of this program, to be started as a separate process.
func programOf(t *testing.T) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(t.TempDir(), "wasmjobd")
	if err := os.Symlink(self, program); err != nil {
		t.Fatal(err)
	}
	return program
}

// The guest is informed of Ctrl-C at once, and its result is shown.
func TestCtrlCAsksTheGuestToStop(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	say := &lockedBuffer{}
	begins := say.await("begins")
	c := exec.CommandContext(t.Context(), programOf(t), "exec", "../../plugins/examples/long-wat/long.wasm", "--item-param", "3600", "--grace", "1h")
	c.Stdout, c.Stderr = &out, say
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	<-begins
	if err := c.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	_ = c.Wait() // its exit status is checked
	if code := c.ProcessState.ExitCode(); code != exitInterrupted {
		t.Errorf("exit code %d", code)
	}
	if !strings.Contains(say.String(), "info  stops\n") || !strings.Contains(out.String(), "verdict     failed (code 1)\n") {
		t.Errorf("out: %s\nerr: %s", out.String(), say)
	}
}

// A guest that ignores Ctrl-C ends with the program at the second Ctrl-C.
func TestCtrlCTwiceEndsAtOnce(t *testing.T) {
	t.Parallel()
	say := &lockedBuffer{}
	begins := say.await("info  hi")
	c := exec.CommandContext(t.Context(), programOf(t), "exec", filepath.Join(guests(t), "deaf.wasm"), "--grace", "10h")
	c.Stderr = say
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	<-begins
	asked := say.await("press Ctrl-C again to end it at once")
	if err := c.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	<-asked
	if err := c.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	_ = c.Wait() // its exit status is checked
	if s := c.ProcessState.Sys().(syscall.WaitStatus); s.Signal() != syscall.SIGINT {
		t.Errorf("ended by %v\n%s", s, say)
	}
}

// A server asks its guests to stop at once, whatever its drain timeout.
func TestCtrlCAsksServedGuestsToStop(t *testing.T) {
	t.Parallel()
	wasm, err := filepath.Abs("../../plugins/examples/long-wat/long.wasm")
	if err != nil {
		t.Fatal(err)
	}
	dir := serveFolder(t, `[server]
data_dir = "data"
drain_timeout = "10h"
[modules.long]
source = "file:`+wasm+`"
[jobs.long]
module = "long"
cron = "* * * * * ?"
item_params = { 0 = "36000" }
limits = { grace = "10h" }
`)
	d := startServe(t, dir)
	begins := d.errors.await("begins")
	<-begins
	if err := d.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if s := d.end(t); s.ExitStatus() != exitOK || s.Signaled() || !strings.Contains(d.errors.String(), `"msg":"stops"`) {
		t.Errorf("ended by %v; standard error:\n%s", s, d.errors)
	}
}
