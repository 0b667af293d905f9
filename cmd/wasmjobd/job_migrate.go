package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/wasmjob/wasmjob/host/config"
	"github.com/wasmjob/wasmjob/host/operator"
)

// migratePatience is how long a migration goes on by default: a job of many items has many nodes.
const migratePatience = 10 * time.Minute

func jobMigrate(o *operatorVerb) *cobra.Command {
	var m operator.Move
	c := &cobra.Command{
		Use: "migrate JOB", Short: "Move a job that nobody runs to a later layout of ElasticJob, or back", Args: cobra.ExactArgs(1),
		Long: "A job of layout 1, 2.0 or 2.1 becomes one of 2.1 or 3. Each item keeps its newest instant and what a\n" +
			"dataflow of layout 1 has kept as its offset, which is state under the key offset; the job keeps its\n" +
			"pause, disabled items and disabled servers. What the layout cannot hold is named. It is refused while\n" +
			"a session holds a node of the job: end its members first, ours with job shutdown --all. Until the\n" +
			"last transaction, which also checks that nobody has come, the job is one of its old layout. What was\n" +
			"cut is finished by the same command. With --back the job gets the layout that it had, as long as no\n" +
			"member has joined and nobody has changed it; after that the same --to deletes what was kept for it.\n" +
			"Without --timeout it goes on for ten minutes, and for 30 seconds where a server does it.",
		Example: "  wasmjobd job migrate orders --to 3 --dry-run\n  wasmjobd job migrate orders --to 3\n  wasmjobd job migrate orders --back",
	}
	c.Flags().StringVar(&m.To, "to", "", "the `layout`: 2.1 or 3")
	c.Flags().BoolVar(&m.Back, "back", false, "take the migration back")
	c.Flags().BoolVar(&m.DryRun, "dry-run", false, "print every write, and write nothing")
	c.MarkFlagsMutuallyExclusive("to", "back")
	c.MarkFlagsOneRequired("to", "back")
	c.RunE = func(c *cobra.Command, args []string) error {
		if !c.Flags().Changed("timeout") {
			o.timeout = migratePatience
		}
		return o.ask(c.Context(), func(ctx context.Context, _ *config.File, op cluster) error {
			done, err := op.Migrate(ctx, args[0], m)
			if err != nil {
				return withNearest(ctx, op, args[0], err)
			}
			return printMigration(o.term, done)
		})
	}
	return c
}

// shownBytes bounds a value that is shown; as JSON it is whole.
const shownBytes = 2000

type migrationJSON struct {
	Version int `json:"version"`
	*operator.Migration
}

func printMigration(term *terminal, m *operator.Migration) error {
	if term.json() {
		return term.printJSON(migrationJSON{1, m})
	}
	name := plain(m.Job)
	for _, n := range m.Notes {
		term.note("%s: %s", name, plainUpTo(shownBytes, n))
	}
	if m.Done != "" {
		term.printf("%s: %s\n", name, m.Done)
		return nil
	}
	if m.DryRun {
		for _, w := range m.Writes {
			value := ""
			if w.Value != "" {
				value = " = " + plainUpTo(shownBytes, w.Value)
			}
			term.printf("%-6s %s%s\n", w.Op, plainUpTo(shownBytes, w.Path), value)
		}
	}
	term.printf("%s: %s %s\n", name, did(m), count(len(m.Writes), "write"))
	return nil
}

func did(m *operator.Migration) string {
	switch {
	case m.From == m.To:
		return "is of layout " + m.To + "; what a migration has left goes by"
	case m.DryRun:
		return "would go from layout " + m.From + " to " + m.To + " by"
	}
	return "went from layout " + m.From + " to " + m.To + " by"
}
