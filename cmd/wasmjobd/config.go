package main

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/wasmjob/wasmjob/host/config"
)

const defaultConfig = "jobs.toml"

// configFlag adds --config to a verb.
func configFlag(c *cobra.Command) *[]string {
	return c.Flags().StringArrayP("config", "c", []string{defaultConfig},
		"configuration `file`, or - for standard input; repeat the flag to merge several files")
}

// readConfig loads the configuration; the error is a config.Problems.
func readConfig(term *terminal, paths []string) (*config.File, error) {
	return config.Load(paths, config.Options{Env: term.env, Stdin: term.in})
}

// loadConfig loads the configuration for a verb that needs it. The error ends the program with
// exitInvalid and shows every problem.
func loadConfig(term *terminal, paths []string) (*config.File, error) {
	f, err := readConfig(term, paths)
	if problems, ok := errors.AsType[config.Problems](err); ok {
		return nil, exitf(exitInvalid, "the configuration is not valid:\n%w\n%s", problems, count(len(problems), "problem"))
	}
	return f, err
}
