package host

import (
	"errors"
	"os"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/registry/embedded"
)

// TestMain lets a test start this binary as the supervisor of a command.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "supervise" {
		os.Exit(Supervise(os.Args[2:], os.Stdin, os.Stderr))
	}
	goleak.VerifyTestMain(m)
}

// supervisor is this test binary as a supervisor of commands.
func supervisor(t testing.TB) []string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return []string{self, "supervise"}
}

// The second of two servers would end what the first one runs.
func TestCommandsOfADirectoryAreOneServers(t *testing.T) {
	t.Parallel()
	o := func(dir string) Options {
		reg := embedded.Memory()
		t.Cleanup(func() { _ = reg.Close() })
		return Options{
			DataDir: dir, Registry: reg, NativeScripts: true, Supervisor: supervisor(t),
			Jobs: []job.Config{{Name: "j", Kind: job.Script, Shards: 1, Command: "/bin/true"}},
		}
	}
	dir := t.TempDir()
	first, stop := start(t, o(dir))
	<-first.Ready()
	second, err := New(o(dir))
	if err != nil {
		t.Fatal(err)
	}
	err = second.Run(t.Context())
	if e, ok := errors.AsType[*Error](err); !ok || e.Code != Refused || !strings.Contains(err.Error(), "another process uses it") {
		t.Errorf("a second server on the directory: %v", err)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
}
