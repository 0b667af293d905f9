package main

import (
	"context"
	"log/slog"

	"github.com/spf13/cobra"

	"github.com/wasmjob/wasmjob/host/config"
	"github.com/wasmjob/wasmjob/host/operator"
)

// planDocument is what plan prints as JSON.
type planDocument struct {
	Version int                `json:"version"`
	Jobs    []operator.Planned `json:"jobs"`
}

func planCommand(term *terminal) *cobra.Command {
	o := &operatorVerb{term: term, readOnly: true}
	c := &cobra.Command{
		Use: "plan", Short: "Show what a configuration would change in the registry, and where the registry has drifted from it",
		Long: "Plan compares the jobs of the configuration with the registry by the rules by which a server\n" +
			"merges them when it starts or reads its files again, and writes nothing. A setting is taken (the\n" +
			"file's value goes into the registry), drift (the registry was changed since the file was applied,\n" +
			"and stays as it is), older (another file was applied since this one: the registry stays, but apply\n" +
			"writes the file's value) or disputed (both were changed, and the registry stays). With overwrite =\n" +
			"true all are taken. Plan reads the registry of the configuration, and no server of --context or\n" +
			"WASMJOBD_CONTEXT. A job is new, changes, same, unread, or other, which is only in the registry.\n" +
			"Modules are not compared. A server remembers in its data_dir what its file said; without the\n" +
			"data_dir of that server, plan shows what a new server does, so older settings as taken. If anything\n" +
			"is drift, older, disputed or unread, plan exits with 5.",
		Example: "  wasmjobd plan\n  wasmjobd plan --config jobs.toml -o json",
		Args:    cobra.NoArgs,
	}
	o.files = configFlag(c)
	c.Flags().DurationVar(&o.timeout, "timeout", defaultPatience, "how long to wait for the registry")
	c.RunE = func(c *cobra.Command, _ []string) error {
		return o.look(c.Context(), func(ctx context.Context, f *config.File, op *operator.Operator) error {
			jobs, err := op.Plan(ctx, options(f, slog.New(slog.DiscardHandler), nil))
			if err != nil {
				return err
			}
			if term.json() {
				err = term.printJSON(planDocument{1, jobs})
			} else {
				printPlan(term, jobs)
			}
			if err != nil {
				return err
			}
			return drifted(jobs)
		})
	}
	return c
}

// printPlan prints what a server, or apply, does with each job, and with each setting that differs.
func printPlan(term *terminal, jobs []operator.Planned) {
	for _, j := range jobs {
		term.printf("%s: %s", plain(j.Job), j.Action)
		if j.Fault != "" {
			term.printf(": %s", plain(j.Fault))
		}
		term.printf("\n")
		for _, k := range j.Keys {
			term.printf("  %-8s  %s: registry %s, file %s\n", k.Fate, plain(k.Key), orDash(plain(k.Registry)), orDash(plain(k.File)))
		}
	}
}

// drifted returns an error if the registry does not match the file.
func drifted(jobs []operator.Planned) error {
	settings, older, unread := 0, 0, 0
	for _, j := range jobs {
		if j.Action == operator.PlanUnread {
			unread++
		}
		for _, k := range j.Keys {
			switch k.Fate {
			case operator.FateTaken: // a server with the file writes it
			case operator.FateOlder:
				older++
			default: // drift or disputed: the registry stays
				settings++
			}
		}
	}
	switch {
	case unread > 0:
		return exitf(exitConflict, "the registry's configuration of %s cannot be read: see wasmjobd doctor --registry", count(unread, "job"))
	case older > 0:
		return exitf(exitConflict, "the registry differs from the file in %s; another file was applied since in %s, where wasmjobd apply writes the values of this one; with overwrite = true the file wins", count(settings+older, "setting"), count(older, "setting"))
	case settings > 0:
		return exitf(exitConflict, "the registry differs from the file in %s; with overwrite = true the file wins", count(settings, "setting"))
	}
	return nil
}
