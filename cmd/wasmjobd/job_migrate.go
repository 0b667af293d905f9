package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/wasmjob/wasmjob/host/config"
	"github.com/wasmjob/wasmjob/host/operator"
)

// migratePatience is the default time limit of a migration: a job of many items has many nodes.
const migratePatience = 10 * time.Minute

func jobMigrate(o *operatorVerb) *cobra.Command {
	var m operator.Move
	c := &cobra.Command{
		Use: "migrate JOB", Short: "Migrate a stopped job to a later layout of ElasticJob, or back", Args: cobra.ExactArgs(1),
		Long: "A job of layout 1, 2.0 or 2.1 becomes one of 2.1 or 3. Each item keeps its newest instant, and the\n" +
			"offset of a dataflow job of layout 1 becomes state under the key offset. The job keeps its pause,\n" +
			"disabled items and disabled servers. Anything that the new layout cannot hold is listed. The\n" +
			"migration is refused while a session holds a node of the job: stop its members first, ours with\n" +
			"job shutdown --all. Until the last transaction, which also checks that no member has joined, the\n" +
			"job keeps its old layout. Repeat the command to complete an interrupted migration. With --back the\n" +
			"job gets its former layout again, as long as no member has joined and nothing has changed it;\n" +
			"after that, the same --to deletes the data kept for going back. Without --timeout the limit is ten\n" +
			"minutes, and 30 seconds if a server does it.",
		Example: "  wasmjobd job migrate orders --to 3 --dry-run\n  wasmjobd job migrate orders --to 3\n  wasmjobd job migrate orders --back",
	}
	c.Flags().StringVar(&m.To, "to", "", "target `layout`: 2.1 or 3")
	c.Flags().BoolVar(&m.Back, "back", false, "undo the migration")
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

// shownBytes bounds a value that is shown; JSON has all of it.
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

// did says what the writes of a migration do, in words that precede their number.
func did(m *operator.Migration) string {
	switch {
	case m.From == m.To: // an interrupted one has only to delete nodes
		return "is of layout " + m.To + "; what a migration has left goes by"
	case m.DryRun:
		return "would go from layout " + m.From + " to " + m.To + " by"
	}
	return "went from layout " + m.From + " to " + m.To + " by"
}
