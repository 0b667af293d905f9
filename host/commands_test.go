package host

import (
	"os"
	"testing"

	"go.uber.org/goleak"
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
