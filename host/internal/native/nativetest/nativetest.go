// Package nativetest lets a test binary be the supervisor of the commands that its
// tests run. It knows nothing of what a supervisor does.
//
// Flow: TestMain calls Serve → a test has a supervisor started by CommandLine → that
// process is this binary again, where Serve does what it was given, and ends.
package nativetest

import (
	"io"
	"os"
	"testing"
)

const verb = "supervise"

// Serve returns at once, but in a process that was started by CommandLine: there it
// supervises, and does not return.
func Serve(supervise func(args []string, server io.Reader, say io.Writer) (exit int)) {
	if len(os.Args) > 1 && os.Args[1] == verb {
		os.Exit(supervise(os.Args[2:], os.Stdin, os.Stderr))
	}
}

// CommandLine is that of a supervisor. What it runs comes behind it.
func CommandLine(t testing.TB) []string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return []string{self, verb}
}
