package main

import (
	"regexp"
	"strings"
	"syscall"
	"testing"
)

const adminTOML = "[admin]\nlisten = \"127.0.0.1:0\"\n[modules.says]\nsource = \"file:says.wasm\"\n[jobs.quick]\nmodule = \"says\"\ncron = \"* * * * * ?\"\n"

// addressOf waits until a server is reached by an address, and returns it.
func addressOf(t *testing.T, d *daemon) string {
	t.Helper()
	const said = "callers with a token reach this server"
	<-d.errors.await(said)
	found := regexp.MustCompile(said + `","address":"([^"]+)"`).FindStringSubmatch(d.errors.String())
	if found == nil {
		t.Fatalf("no address in:\n%s", d.errors)
	}
	return "http://" + found[1]
}

// A server whose address is taken does not start.
func TestServeAtATakenAddress(t *testing.T) {
	t.Parallel()
	first := startServe(t, serveFolder(t, adminTOML))
	address := strings.TrimPrefix(addressOf(t, first), "http://")
	second := startServe(t, serveFolder(t, strings.Replace(adminTOML, "127.0.0.1:0", address, 1)))
	if s := second.end(t); s.ExitStatus() == exitOK || !strings.Contains(second.errors.String(), "address already in use") {
		t.Errorf("ended by %v; standard error:\n%s", s, second.errors)
	}
	if err := first.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if s := first.end(t); s.ExitStatus() != exitOK {
		t.Errorf("ended by %v; standard error:\n%s", s, first.errors)
	}
}
