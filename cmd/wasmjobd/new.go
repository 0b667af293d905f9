package main

import (
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"github.com/wasmjob/wasmjob/cmd/wasmjobd/internal/scaffold"
)

// newProject is what "new" prints as JSON.
type newProject struct {
	Dir      string `json:"dir"`
	Name     string `json:"name"`
	Language string `json:"language"`
	Kind     string `json:"kind"`
	Build    string `json:"build"`
	Run      string `json:"run"`
}

func newCommand(term *terminal) *cobra.Command {
	var lang, kind string
	c := &cobra.Command{
		Use:   "new --lang LANGUAGE DIR",
		Short: "Create a project for a job, in a language of your choice",
		Long: "New writes a small working job, with its tests, build files and the SDK's sources, into a\n" +
			"directory that does not exist or is empty. It prints two commands: one builds the module, the\n" +
			"other runs it.",
		Example: "  wasmjobd new --lang rust report\n  wasmjobd new --lang go --kind dataflow import-orders",
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 || args[0] == "" {
				return usage("write one directory: wasmjobd new --lang LANGUAGE DIR")
			}
			if lang == "" {
				return usage("--lang is missing: write one of %s", strings.Join(scaffold.Languages(), ", "))
			}
			return makeProject(term, args[0], scaffold.Project{Lang: lang, Kind: kind})
		},
	}
	c.Flags().StringVar(&lang, "lang", "", "`language`: "+strings.Join(scaffold.Languages(), ", "))
	c.Flags().StringVar(&kind, "kind", "simple", "`kind` of job: "+strings.Join(scaffold.Kinds(), ", "))
	return c
}

// makeProject writes the files of a project into dir, and prints the commands that build and run it.
func makeProject(term *terminal, dir string, p scaffold.Project) error {
	var err error
	if p.Name, err = scaffold.NameFor(dir); err != nil {
		return err
	}
	files, err := p.Files()
	if err != nil {
		return usage("%w", err)
	}
	build, run, err := p.Commands(dir)
	if err != nil {
		return usage("%w", err)
	}
	switch err := scaffold.Write(dir, files); {
	case errors.Is(err, scaffold.ErrNotEmpty):
		return exitf(exitConflict, "%s is not empty: name a new directory", dir)
	case err != nil:
		return err
	}
	if rest, ok := strings.CutPrefix(run, "wasmjobd "); ok {
		run = term.program + " " + rest // as the user can type it
	}
	if term.json() {
		return term.printJSON(newProject{Dir: dir, Name: p.Name, Language: p.Lang, Kind: p.Kind, Build: build, Run: run})
	}
	in := ""
	if p.Name != dir {
		in = " in " + dir
	}
	term.note("created %s%s; see %s/README.md for the rest", p.Name, in, strings.TrimRight(dir, "/"))
	term.printf("%s\n%s\n", build, run)
	return nil
}
