package main

import (
	"os"

	"github.com/spf13/cobra"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/guest"
)

// compileVerb is how a server starts this program to have a module compiled.
const compileVerb = "compile-apart"

// compileCommand is no verb for people: see host.Options.Compiler.
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

// examineVerb is how a server starts this program to have a module examined.
const examineVerb = "examine-module"

// examineCommand is no verb for people: see guest.Examiner.
func examineCommand(term *terminal) *cobra.Command {
	return &cobra.Command{
		Use: examineVerb, Hidden: true, Short: "Examine a module for a server, which starts this itself",
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return guest.ExamineInSubprocess(c.Context(), term.in, term.out)
		},
	}
}

// itself is the command line of a verb of the program that runs, also when another
// version lies at its path by now. Empty if this process is another program.
func itself(term *terminal, verb string) []string {
	if term.program != os.Args[0] {
		return nil
	}
	const running = "/proc/self/exe"
	if _, err := os.Stat(running); err == nil {
		return []string{running, verb}
	}
	path, err := os.Executable()
	if err != nil {
		return nil
	}
	return []string{path, verb}
}
