package main

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/wasmjob/wasmjob/host/operator"
)

// pseudoTerminal returns both ends of a pseudo-terminal, which exists as long as holder is
// open.
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

// A server whose terminal goes away stops in order, and loses no run. While the terminal is
// there, the same signal makes it read its files again.
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
		!strings.Contains(said, "the terminal on which the server was started is gone") || !strings.Contains(said, `"stopped"`) {
		t.Errorf("ended by %v, its command: %v; standard error:\n%s", s, exists(dir, "ended"), said)
	}
}

// A server that is started on a terminal shows there its address and its first token, which
// works. The second start shows only the token's file.
func TestServeShowsItsFirstTokenOnATerminal(t *testing.T) {
	t.Parallel()
	dir := serveFolder(t, adminTOML)
	token := filepath.Join(dir, "data", firstToken)
	for _, first := range []bool{true, false} {
		holder, terminal := pseudoTerminal(t)
		d := startServeWith(t, dir, nil, func(c *exec.Cmd) { c.Stderr = terminal })
		if err := terminal.Close(); err != nil {
			t.Fatal(err)
		}
		shown := map[string]string{}
		for lines := bufio.NewScanner(holder); shown["verb"] == "" && lines.Scan(); {
			line := strings.TrimSpace(lines.Text())
			for name, begin := range map[string]string{"address": "this server answers at ", "token": operator.TokenPrefix, "verb": "wasmjobd job list "} {
				if strings.HasPrefix(line, begin) {
					shown[name] = line
				}
			}
		}
		secret, err := os.ReadFile(token)
		if err != nil {
			t.Fatal(err)
		}
		if want := strings.TrimSpace(string(secret)); first && shown["token"] != want || !first && shown["token"] != "" {
			t.Errorf("the token is shown as %.8q, want it: %v", shown["token"], first)
		}
		if !strings.HasPrefix(shown["address"], "this server answers at http://127.0.0.1:") || !strings.Contains(shown["address"], "its first token is in data/"+firstToken) {
			t.Errorf("the address is shown as %q", shown["address"])
		}
		d.until(t, func(e eventLine) bool { return e.Event == "end" }) // the job has joined
		args := strings.Fields(strings.ReplaceAll(shown["verb"], "data/"+firstToken, token))
		if out := asked(t, nil, exitOK, args[1:]...); !strings.Contains(out, "quick") {
			t.Errorf("%q answers:\n%s", shown["verb"], out)
		}
		if err := d.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		d.end(t)
		if err := holder.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
