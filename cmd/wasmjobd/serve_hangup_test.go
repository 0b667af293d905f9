//go:build unix

package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// hangupFolder has a job whose command ends when there is a file "go".
func hangupFolder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	text := "schema = 1\n[server]\ndata_dir = \"data\"\ndrain_timeout = \"1h\"\n[host]\nallow_native_scripts = true\n" +
		"[jobs.waits]\nkind = \"script\"\ncommand = '/bin/sh " + dir + "/wait.sh " + dir + "'\ncron = \"* * * * * ?\"\n"
	for name, text := range map[string]string{
		"jobs.toml": text,
		"wait.sh":   "cd \"$1\"\necho >began\nwhile [ ! -e go ]; do /bin/sleep 0.01; done\necho >ended\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// Who types kill -HUP loses no run, and reads that nothing was read anew. A
// terminal that goes away may send it twice.
func TestServeStopsInOrderAtHangup(t *testing.T) {
	t.Parallel()
	dir := hangupFolder(t)
	d := startServe(t, dir)
	await(t, func() bool { return exists(dir, "began") })
	stopping := d.errors.await(`"stopping"`)
	for range 2 {
		if err := d.Process.Signal(syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
		<-stopping
	}
	if exists(dir, "ended") {
		t.Error("the command did not wait")
	}
	if err := os.WriteFile(filepath.Join(dir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s := d.end(t)
	if said := d.errors.String(); s.ExitStatus() != exitOK || s.Signaled() || !exists(dir, "ended") ||
		!strings.Contains(said, "SIGHUP stops the server as SIGTERM does") || !strings.Contains(said, `"stopped"`) {
		t.Errorf("ended by %v, its command: %v; standard error:\n%s", s, exists(dir, "ended"), said)
	}
}

// Who starts it by nohup does not want it to notice.
func TestServeUnderNohupGoesOn(t *testing.T) {
	t.Parallel()
	dir := hangupFolder(t)
	if err := os.WriteFile(filepath.Join(dir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	d := startServeBy(t, dir, []string{"nohup"})
	d.until(t, func(e eventLine) bool { return e.Event == "start" })
	if err := d.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	d.until(t, func(e eventLine) bool { return e.Event == "start" }) // it would begin no other
	if err := d.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if s := d.end(t); s.ExitStatus() != exitOK || s.Signaled() || strings.Contains(d.errors.String(), "SIGHUP") {
		t.Errorf("ended by %v; standard error:\n%s", s, d.errors)
	}
}

func exists(dir, name string) bool {
	_, err := os.Stat(filepath.Join(dir, name))
	return err == nil
}
