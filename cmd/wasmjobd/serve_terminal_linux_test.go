package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// pseudoTerminal gives both ends of one: whoever has the first holds it open.
func pseudoTerminal(t *testing.T) (holder, terminal *os.File) {
	t.Helper()
	holder, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("left out: there are no pseudoterminals: %v", err)
	}
	number, err := unix.IoctlGetInt(int(holder.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(holder.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		terminal, err = os.OpenFile("/dev/pts/"+strconv.Itoa(number), os.O_RDWR|syscall.O_NOCTTY, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	return holder, terminal
}

// A server whose terminal goes away stops in order, and loses no run; as long as
// that is there, the same signal has it read its files.
func TestServeStopsInOrderWithItsTerminal(t *testing.T) {
	t.Parallel()
	dir := hangupFolder(t)
	holder, terminal := pseudoTerminal(t)
	d := startServeWith(t, dir, nil, func(c *exec.Cmd) {
		c.Stdin = terminal
		c.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	})
	if err := terminal.Close(); err != nil {
		t.Fatal(err)
	}
	await(t, func() bool { return exists(dir, "began") })
	reloaded := d.errors.await(`"reloaded"`)
	if err := d.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	<-reloaded
	stopping := d.errors.await(`"stopping"`)
	if err := holder.Close(); err != nil {
		t.Fatal(err)
	}
	<-stopping
	if exists(dir, "ended") {
		t.Error("the command did not wait")
	}
	if err := os.WriteFile(filepath.Join(dir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s := d.end(t)
	if said := d.errors.String(); s.ExitStatus() != exitOK || s.Signaled() || !exists(dir, "ended") ||
		!strings.Contains(said, "the terminal is gone") || !strings.Contains(said, `"stopped"`) {
		t.Errorf("ended by %v, its command: %v; standard error:\n%s", s, exists(dir, "ended"), said)
	}
}
