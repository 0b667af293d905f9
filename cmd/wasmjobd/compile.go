package main

import (
	"os"

	"github.com/spf13/cobra"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/guest"
)

// compileVerb makes this program compile a module for a server.
const compileVerb = "compile-apart"

// compileCommand is not for people: see host.Options.Compiler.
func compileCommand(term *terminal) *cobra.Command {
	return &cobra.Command{
		Use: compileVerb, Hidden: true, Short: "Compile a module for a server, which starts this itself",
		Args: cobra.ArbitraryArgs,
		RunE: func(c *cobra.Command, args []string) error {
			if code := host.CompileInSubprocess(c.Context(), args, term.in, term.err); code != 0 {
				return &exitError{code: code}
			}
			return nil
		},
	}
}

// examineVerb makes this program examine a module for a server.
const examineVerb = "examine-module"

// examineCommand is not for people: see guest.Examiner.
func examineCommand(term *terminal) *cobra.Command {
	return &cobra.Command{
		Use: examineVerb, Hidden: true, Short: "Examine a module for a server, which starts this itself",
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return guest.ExamineInSubprocess(c.Context(), term.in, term.out)
		},
	}
}

// itself returns the command line for a verb of the running program, even if another version has replaced
// its file. It is nil if this process is a different program, such as a test that calls run.
func itself(term *terminal, verb string) []string {
	if term.program != os.Args[0] {
		return nil
	}
	const running = "/proc/self/exe" // on Linux, the file as it was when the process began
	if _, err := os.Stat(running); err == nil {
		return []string{running, verb}
	}
	path, err := os.Executable()
	if err != nil {
		return nil
	}
	return []string{path, verb}
}
