package main

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/wasmjob/wasmjob/internal/nearest"
)

// rootCommand builds the whole tree of verbs. A new verb is a function in a file of its own and
// a line here.
func rootCommand(term *terminal) *cobra.Command {
	term.format = formatText
	root := &cobra.Command{
		Use:   "wasmjobd",
		Short: "Run scheduled, sharded WebAssembly jobs",
		Long: "wasmjobd runs scheduled, sharded jobs whose code is a WebAssembly module.\n" +
			"A server coordinates with others by the protocol of ElasticJob-Lite, or runs alone.",
		SilenceErrors:     true, // run prints them
		SilenceUsage:      true, // an error says what to do; the help is one flag away
		DisableAutoGenTag: true,
		// Cobra takes 0 as "no suggestions" if it does not search itself.
		SuggestionsMinimumDistance: 2,
	}
	root.SetIn(term.in)
	root.SetOut(term.out)
	root.SetErr(term.err)
	root.PersistentFlags().VarP(&term.format, "output", "o", "how data is printed")
	root.AddCommand(
		serveCommand(term),
		validateCommand(term),
		nextCommand(term),
		newCommand(term),
		execCommand(term),
		inspectCommand(term),
		testCommand(term),
		conformanceCommand(term),
		historyCommand(term),
		jobCommand(term),
		moduleCommand(term),
		shardCommand(term),
		serverCommand(term),
		maintenanceCommand(term),
		runCommand(term),
		tokenCommand(term),
		auditCommand(term),
		alertCommand(term),
		doctorCommand(term),
		planCommand(term),
		applyCommand(term),
		backfillCommand(term),
		versionCommand(term),
		compileCommand(term),
		examineCommand(term),
		superviseCommand(term),
	)
	guard(term, root)
	return root
}

// guard makes every command of the tree strict about its arguments, and records when a verb's
// own code begins: earlier errors are wrong usage.
func guard(term *terminal, c *cobra.Command) {
	c.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return usage("%w\nsee %s --help", inOurWords(err), c.CommandPath())
	})
	for _, child := range c.Commands() {
		guard(term, child)
	}
	if c.HasSubCommands() && c.RunE == nil {
		// A noun, such as "job", only has verbs below it. Without this, cobra would answer an unknown
		// verb with the help and exit code 0.
		c.Args = cobra.ArbitraryArgs
		c.RunE = func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				return c.Help()
			}
			return unknownVerb(c, args[0])
		}
		return
	}
	if fit := c.Args; fit != nil {
		// Cobra counts arguments, but does not say what they are.
		c.Args = func(c *cobra.Command, args []string) error {
			err := fit(c, args)
			if _, ours := errors.AsType[*exitError](err); err == nil || ours { // ours says what is missing
				return err
			}
			return usage("wrong number of arguments, %d; write %s\nsee %s --help", len(args), strings.TrimSuffix(c.UseLine(), " [flags]"), c.CommandPath())
		}
	}
	if verb := c.RunE; verb != nil {
		c.RunE = func(c *cobra.Command, args []string) error {
			if err := emptyFlag(c); err != nil {
				return err
			}
			term.started = true
			return verb(c, args)
		}
	}
}

// selecting are flags that select what a verb acts on, or how it acts.
var selecting = []string{"address", "context", "cron", "data-dir", "from", "instance", "job", "key", "name", "older-than", "server", "to", "token-file"} // read only

// emptyFlag refuses a flag that selects nothing, which is probably an unset variable in a script. As if the flag were
// left out, the verb would act on all, or elsewhere.
func emptyFlag(c *cobra.Command) (err error) {
	c.Flags().Visit(func(f *pflag.Flag) {
		if value := f.Value.String(); (value == "" || value == "[]") && slices.Contains(selecting, f.Name) {
			err = usage("--%s is empty; give it a value, or leave it out", f.Name)
		}
	})
	return err
}

// inOurWords returns an error that says what to write instead of a refused value, or of flags
// that exclude each other. The libraries' own texts are for programmers.
func inOurWords(err error) error {
	if e, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		want := map[string]string{
			"duration": "a duration with its unit, such as 30s, 90m or 12h", "int": "a whole number", "intSlice": "whole numbers, such as 1,3",
		}[e.GetFlag().Value.Type()]
		if want != "" {
			return fmt.Errorf("--%s %.100q: write %s", e.GetFlag().Name, e.GetValue(), want)
		}
	}
	group := flagGroup.FindStringSubmatch(err.Error())
	if group == nil {
		return err
	}
	flags := "--" + strings.Join(strings.Fields(group[2]), ", --")
	if group[1] == "at least one of" {
		return errors.New("write one of " + flags)
	}
	return errors.New("write only one of " + flags)
}

// flagGroup matches the errors of cobra about flags of which one, or only one, may be given.
var flagGroup = regexp.MustCompile(`^(at least one of|if any) (?:the )?flags in the group \[([^]]*)\]`)

// unknownVerb returns the error for a verb that a noun does not have. It suggests a similar verb. A
// plural such as "retries" is similar to its verb only without the ending.
func unknownVerb(c *cobra.Command, name string) error {
	var verbs []string
	for _, verb := range c.Commands() {
		if verb.IsAvailableCommand() {
			verbs = append(verbs, verb.Name())
		}
	}
	hint := cmp.Or(nearest.Question(name, verbs), nearest.Question(strings.TrimSuffix(name, "ies"), verbs), "see "+c.CommandPath()+" --help for the verbs")
	return usage("%s has no verb %q; %s", c.CommandPath(), name, hint)
}
