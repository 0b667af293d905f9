// Package nativetest makes a test binary the supervisor of the commands that its tests
// run. It does not implement a supervisor.
//
// Flow: TestMain calls Serve → a test starts a supervisor with CommandLine → that process
// is this binary again, where Serve calls the function that it was given, and exits.
package nativetest

import (
	"io"
	"os"
	"testing"
)

const verb = "supervise"

// Serve returns at once, except in a process started with CommandLine: there it calls
// supervise and exits.
func Serve(supervise func(args []string, server io.Reader, say io.Writer) (exit int)) {
	if len(os.Args) > 1 && os.Args[1] == verb {
		os.Exit(supervise(os.Args[2:], os.Stdin, os.Stderr))
	}
}

// CommandLine returns the command line of a supervisor. The command that it runs is
// appended.
func CommandLine(t testing.TB) []string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return []string{self, verb}
}
