package main

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const unitFile = "../../docs/systemd/wasmjobd.service"

// readUnit returns the text of the unit, and the keys of its service that have a value.
func readUnit(t *testing.T) (text string, keys map[string]string) {
	t.Helper()
	b, err := os.ReadFile(unitFile)
	if err != nil {
		t.Fatal(err)
	}
	text, keys = string(b), map[string]string{}
	for line := range strings.Lines(text) {
		if key, value, ok := strings.Cut(strings.TrimSpace(line), "="); ok && !strings.HasPrefix(key, "#") {
			keys[key] = value
		}
	}
	return text, keys
}

// The unit starts this program correctly.
func TestUnitStartsThisProgram(t *testing.T) {
	t.Parallel()
	text, keys := readUnit(t)
	for key, want := range map[string]string{
		"Type": "notify", "NotifyAccess": "main", "KillMode": "mixed", "StateDirectory": "wasmjobd", "TimeoutStartSec": "infinity",
		"RestartPreventExitStatus": strconv.Itoa(exitInvalid), "ExecReload": "/bin/kill -HUP $MAINPID", "ProtectSystem": "strict", "NoNewPrivileges": "yes",
	} {
		if keys[key] != want {
			t.Errorf("%s is %q, want %q", key, keys[key], want)
		}
	}
	if _, set := keys["MemoryDenyWriteExecute"]; set {
		t.Error("no module could be compiled")
	}
	args := strings.Fields(keys["ExecStart"])
	if len(args) < 2 || args[0] != "/usr/bin/wasmjobd" || args[1] != "serve" {
		t.Fatalf("it starts %q", args)
	}
	serve := serveCommand(&terminal{out: io.Discard, err: io.Discard})
	for _, arg := range args[2:] {
		if name, flag := strings.CutPrefix(arg, "--"); flag && serve.Flags().Lookup(name) == nil {
			t.Errorf("serve has no flag --%s", name)
		}
	}
	if slices.Contains(args, "--data-dir") {
		t.Errorf("%q: other commands do not find a server whose file does not name its directory", args)
	}
	if want := `data_dir = "/var/lib/` + keys["StateDirectory"] + `"`; !strings.Contains(text, want) {
		t.Errorf("it does not ask for the directory that the service may write to: %s", want)
	}
}

// The service manager accepts the unit without complaint.
func TestSystemdReadsTheUnit(t *testing.T) {
	t.Parallel()
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("left out: systemd-analyze is missing; apt-get install systemd")
	}
	text, _ := readUnit(t)
	// Program and user do not exist on this machine.
	here := strings.NewReplacer("/usr/bin/wasmjobd ", "/bin/true ", "User=wasmjobd", "User=root", "Group=wasmjobd", "Group=root")
	path := filepath.Join(t.TempDir(), "wasmjobd.service")
	if err := os.WriteFile(path, []byte(here.Replace(text)), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), analyze, "verify", "--man=no", path).CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("%v\n%s", err, out)
	}
}
