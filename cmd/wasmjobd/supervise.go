package main

import (
	"github.com/spf13/cobra"

	"github.com/wasmjob/wasmjob/host"
)

// superviseVerb makes this program supervise a command of the operating system for a server.
const superviseVerb = "supervise-command"

// superviseCommand is not for people: see host.Options.Supervisor.
func superviseCommand(term *terminal) *cobra.Command {
	return &cobra.Command{
		Use: superviseVerb, Hidden: true, Short: "Run a command of the operating system for a server, which starts this itself",
		Args:               cobra.ArbitraryArgs,
		DisableFlagParsing: true, // flags belong to the command
		RunE: func(_ *cobra.Command, args []string) error {
			if code := host.Supervise(args, term.in, term.err); code != 0 {
				return &exitError{code: code}
			}
			return nil
		},
	}
}
