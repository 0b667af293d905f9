package main

import (
	"os/exec"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/wasmjob/wasmjob/host"
)

// compileVerb is how a server starts this program to have a module compiled.
const compileVerb = "compile-apart"

// compileCommand is no verb for people: see host.Options.Compiler.
func compileCommand(term *terminal) *cobra.Command {
	return &cobra.Command{
		Use: compileVerb, Hidden: true, Short: "Compile a module for a server, which starts this itself",
		Args: cobra.ArbitraryArgs,
		RunE: func(c *cobra.Command, args []string) error {
			if code := host.CompileApart(c.Context(), args, term.in, term.err); code != 0 {
				return &exitError{code: code}
			}
			return nil
		},
	}
}

// compiler is the command line of that; empty if the program cannot be found by
// the name with which it was called.
func compiler(term *terminal) []string {
	path, err := exec.LookPath(term.program)
	if err == nil {
		path, err = filepath.Abs(path)
	}
	if err != nil {
		return nil
	}
	return []string{path, compileVerb}
}
