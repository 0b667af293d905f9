package main

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// A context names a server with its token, so a verb needs no other flag.
func TestVerbsByContext(t *testing.T) {
	t.Parallel()
	dir := serveFolder(t, adminTOML)
	d := startServe(t, dir)
	address := addressOf(t, d)
	<-d.errors.await("the first one permits everything")
	d.until(t, func(e eventLine) bool { return e.Event == "end" })
	home := t.TempDir()
	folder := filepath.Join(home, ".config", "wasmjobd")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(folder, "config.toml")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	env := []string{"HOME=" + home, "XDG_CONFIG_HOME=", addressVariable + "=", tokenVariable + "="}
	write("[contexts.prod]\naddress = '" + address + "'\ntoken_file = '" + filepath.Join(dir, "data", firstToken) + "'\n[contexts.empty]\n[contexts.bare]\naddress = '" + address + "'\n")
	if out := asked(t, env, exitOK, "job", "list", "--context", "prod"); !strings.Contains(out, "quick") {
		t.Errorf("listed:\n%s", out)
	}
	by := append([]string{contextVariable + "=prod"}, env...)
	if out := asked(t, by, exitOK, "job", "list"); !strings.Contains(out, "quick") {
		t.Errorf("listed by the variable:\n%s", out)
	}
	asked(t, by, exitOK, "job", "show", "quick", "--context", "bare", "--token-file", filepath.Join(dir, "data", firstToken))
	if out := asked(t, env, exitOK, "doctor", "quick", "--context", "prod"); !strings.Contains(out, "can run it") {
		t.Errorf("doctor says:\n%s", out)
	}
	await(t, func() bool { // the history has a row a moment after its event
		return strings.Contains(asked(t, env, exitOK, "history", "list", "--context", "prod"), "succeeded")
	})
	for _, verb := range []struct {
		code int
		want string
		args []string
	}{
		{exitOK, `"job":"quick"`, []string{"history", "export", "--since", "1h"}},
		{exitOK, "job,item,run", []string{"history", "export", "--format", "csv", "--job", "quick"}},
		{exitOK, "quick", []string{"history", "list", "--since", "1h", "--cause", "schedule"}},
		{exitOK, "0 findings", []string{"history", "check", "--job", "quick"}},
		{exitNotFound, "", []string{"history", "check", "--job", "quik"}},
		{exitOK, "0 rows would be deleted", []string{"history", "purge", "--older-than", "30d", "--dry-run"}},
		{exitOK, "0 rows deleted", []string{"history", "purge", "--older-than", "30d", "--yes"}},
		{exitNotFound, "", []string{"module", "retry", "abc"}},
		{exitUsage, "", []string{"history", "check", "--with", "x"}},
	} {
		if out := asked(t, env, verb.code, append(verb.args, "--context", "prod")...); !strings.Contains(out, verb.want) {
			t.Errorf("%s says:\n%s", verb.args, out)
		}
	}
	if out := asked(t, env, exitOK, "audit", "list", "--verb", "history purge", "--context", "prod"); !strings.Contains(out, "older_than=720h0m0s") {
		t.Errorf("the audit says:\n%s", out)
	}
	asked(t, env, exitNotFound, "doctor", "quik", "--context", "prod")
	asked(t, env, exitUsage, "job", "list", "--context", "bare")
	asked(t, env, exitInvalid, "job", "list", "--context", "empty")
	asked(t, env, exitNotFound, "job", "list", "--context", "prd")
	asked(t, env, exitUsage, "job", "list", "--context", "prod", "--address", address)
	asked(t, env, exitUsage, "job", "list", "--context", "prod", "--config", filepath.Join(dir, "jobs.toml"))
	asked(t, []string{"HOME=", "XDG_CONFIG_HOME="}, exitUsage, "job", "list", "--context", "prod")
	write("[contexts.prod]\naddresses = 'x'\n")
	asked(t, env, exitInvalid, "job", "list", "--context", "prod")
	if err := d.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if s := d.end(t); s.ExitStatus() != exitOK {
		t.Errorf("ended by %v; standard error:\n%s", s, d.errors)
	}
}

// A run that no server shows may be at one that did not answer, so it is not said to be nowhere.
func TestARunMayBeAtASilentServer(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"version":1,"runs":[],"unread":["http://10.0.0.2:8680"]}`)
	}))
	t.Cleanup(s.Close)
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var out, say bytes.Buffer
	args := []string{"history", "show", "report/0/2026-01-01T00:02:00Z", "--address", s.URL, "--token-file", token}
	code := run(t.Context(), args, os.Environ(), strings.NewReader(""), &out, &say)
	if code != exitUnreachable || !strings.Contains(say.String(), "; without an answer: http://10.0.0.2:8680\n") {
		t.Errorf("exit code %d\n%s%s", code, &out, &say)
	}
}
