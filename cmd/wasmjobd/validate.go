package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/config"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/reason"
)

func validateCommand(term *terminal) *cobra.Command {
	c := &cobra.Command{
		Use:   "validate [FILE...]",
		Short: "Check configuration files and show when each job fires next",
		Long: "Validate reads configuration files without starting anything and lists everything that is wrong\n" +
			"with them. Several files make one configuration; - is standard input. With -o json it prints an\n" +
			"array of problems, which is empty if there are none.\n\n" +
			"With --modules it also loads the jobs' code as serve would on this machine: it reads, checks and\n" +
			"compiles modules, checks that they fit the kinds, limits and directories of their jobs, and that the\n" +
			"secrets of the jobs are there. It runs nothing.",
		Example: "  wasmjobd validate\n  wasmjobd validate --config jobs.toml --config site.toml\n  generate | wasmjobd validate - -o json",
	}
	paths := configFlag(c)
	var modules bool
	c.Flags().BoolVar(&modules, "modules", false, "also load the modules of the jobs")
	c.RunE = func(c *cobra.Command, args []string) error {
		files := args
		if c.Flags().Changed("config") || len(args) == 0 {
			files = slices.Concat(*paths, args)
		}
		return untilSignal(c.Context(), func(ctx context.Context) error { return validate(ctx, term, files, modules) })
	}
	return c
}

func validate(ctx context.Context, term *terminal, paths []string, modules bool) error {
	f, err := readConfig(term, paths)
	var problems config.Problems
	if err != nil && !errors.As(err, &problems) {
		return err
	}
	if err == nil && modules {
		if problems, err = loadable(ctx, term, f); err != nil {
			return err
		}
	}
	if term.json() {
		if problems == nil {
			problems = config.Problems{} // an empty array, not null
		}
		if err := term.printJSON(problems); err != nil {
			return err
		}
	}
	if len(problems) > 0 {
		if !term.json() {
			term.printf("%v\n", problems)
			term.note("%s", count(len(problems), "problem"))
		}
		return &exitError{code: exitInvalid}
	}
	if !term.json() {
		summarise(term, paths, f)
		if modules {
			term.printf("the modules of all jobs can be loaded\n")
		}
	}
	return nil
}

// loadable loads the jobs' code as serve would, and returns a problem for each job for which that fails.
func loadable(ctx context.Context, term *terminal, f *config.File) (problems config.Problems, err error) {
	k, err := fetchKeys(f, term) // without them serve fails, too
	if err != nil {
		return nil, err
	}
	faults, err := unloadable(ctx, term, f, k.secrets, nil)
	for _, fault := range faults {
		problems = append(problems, f.JobProblem(fault.Job, fault.Key, reason.Of(reason.ModuleRefused, fault.Err.Error())))
	}
	return problems, err
}

// unloadable loads the code of the named jobs, or of all jobs if names is empty, and returns
// the jobs for which that fails.
func unloadable(ctx context.Context, term *terminal, f *config.File, secrets map[string]string, names []string) ([]host.JobFault, error) {
	o := options(f, nil, nil)
	o.Secrets, o.Compiler, o.Supervisor, o.Pull = secrets, itself(term, compileVerb), itself(term, superviseVerb), pullFor(term)
	if len(names) > 0 {
		o.Jobs = slices.DeleteFunc(slices.Clone(o.Jobs), func(c job.Config) bool { return !slices.Contains(names, c.Name) })
	}
	faults, err := host.Loads(ctx, o)
	if err != nil {
		return nil, coded(err)
	}
	return faults, nil
}

// summarise prints what a valid configuration contains, and when each job fires.
func summarise(term *terminal, paths []string, f *config.File) {
	term.printf("%s: valid, %s, %s\n", strings.Join(paths, ", "), count(len(f.Jobs), "job"), count(len(f.Modules), "module"))
	w := tabwriter.NewWriter(term.out, 0, 0, 2, ' ', 0)
	now := time.Now()
	for _, c := range f.Jobs {
		fmt.Fprintf(w, "  %s\t%s\n", c.Name, nextFire(c, now))
	}
	_ = w.Flush() // printf does not report its errors either
	for _, c := range f.Jobs {
		if s, err := config.Compile(c); err == nil {
			if why := config.Over(s, now); why != "" {
				term.note("job %s: cron: it never fires again: %s; give it another cron, or remove it", c.Name, why)
			}
			for _, note := range config.Warnings(s, now) {
				term.note("job %s: cron: %s", c.Name, note)
			}
		}
		withForeign(term, c)
	}
}

// withForeign prints what would prevent a job from running, or change, if it is shared with members of
// ElasticJob. Only the registry knows whether there are any, but a file sets class only for them.
func withForeign(term *terminal, c job.Config) {
	if c.Class == "" {
		return
	}
	if c.TimeZone == "" {
		term.note("job %s: class is set, and timezone is not: members of ElasticJob fire in the zone of their JVM, and it can be shared with them only if timezone names that zone", c.Name)
	}
	if !c.MonitorExecution {
		term.note("job %s: class is set, and monitor_execution is off: it can be shared with members of ElasticJob only if that is on", c.Name)
	}
	if c.StrategyModule != "" {
		term.note("job %s: class is set: while members of ElasticJob share the job, strategy assigns the items, not strategy_module", c.Name)
	}
}

// nextFire says when a job fires next, in words.
func nextFire(c job.Config, now time.Time) string {
	var next string
	s, err := config.Compile(c)
	switch {
	case c.Cron == "":
		next = "manual"
	case err != nil: // loading compiled it before
		next = err.Error()
	case s.Next(now).IsZero():
		next = "over"
	default:
		next = "next " + clock(s.Next(now))
	}
	if c.Disabled {
		next += " (disabled)"
	}
	return next
}

// count returns "1 job" or "2 jobs".
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
