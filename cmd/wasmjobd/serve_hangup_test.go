//go:build unix

package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// hangupFolder returns a folder with a job whose command ends when a file "go" exists.
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

// A server that is started with nohup ignores the signal.
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
	d.until(t, func(e eventLine) bool { return e.Event == "start" }) // it begins no other run
	if err := d.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if s := d.end(t); s.ExitStatus() != exitOK || s.Signaled() || strings.Contains(d.errors.String(), "reloaded") {
		t.Errorf("ended by %v; standard error:\n%s", s, d.errors)
	}
}

func exists(dir, name string) bool {
	_, err := os.Stat(filepath.Join(dir, name))
	return err == nil
}
