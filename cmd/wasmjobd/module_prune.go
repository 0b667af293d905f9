package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/config"
	"github.com/wasmjob/wasmjob/host/operator"
)

func modulePrune(o *operatorVerb) *cobra.Command {
	var p operator.Prune
	c := &cobra.Command{
		Use: "prune", Short: "Remove unused modules from the disks of servers", Args: cobra.NoArgs,
		Long: "Prune removes each module that no job of the cluster runs, will run, can go back to or uses as its\n" +
			"strategy module, that has no name, and that the server received more than a day ago. The server\n" +
			"that is asked prunes the disks of all servers or, with --here, only its own. On ZooKeeper without\n" +
			"--address, prune works on the data_dir of the configuration.\n\n" +
			"If the modules of any job are not known, or a server that can be asked does not answer, nothing is\n" +
			"removed. Servers known only to jobs, such as a server that is down, are listed and keep their\n" +
			"modules.",
		Example: "  wasmjobd module prune --dry-run",
	}
	c.Flags().BoolVar(&p.DryRun, "dry-run", false, "list the modules without removing them")
	c.Flags().BoolVar(&p.Here, "here", false, "only on the disk of the server at --address")
	c.RunE = func(c *cobra.Command, _ []string) error {
		return o.ask(c.Context(), func(ctx context.Context, f *config.File, op cluster) error {
			p.Remove = pruneIn(f.Server.DataDir)
			report, err := op.PruneModules(ctx, p)
			if err != nil {
				return err
			}
			if o.term.json() {
				return o.term.printJSON(report)
			}
			o.term.printPruned(report.Removed, report.Bytes, p.DryRun, "")
			for _, other := range report.Others {
				o.term.printPruned(other.Removed, other.Bytes, p.DryRun, " at "+plain(other.Server))
			}
			o.term.noteUnread(report.Unread)
			return nil
		})
	}
	return c
}

// printPruned prints which modules were or would be removed at a place.
func (t *terminal) printPruned(all []operator.PrunedModule, bytes int64, dry bool, at string) {
	for _, m := range all {
		t.printf("%s\n", plain(m.Digest))
	}
	noun, done := "modules", "removed"
	if len(all) == 1 {
		noun = "module"
	}
	if dry {
		done = "would be removed"
	}
	t.printf("%d %s %s%s, %s\n", len(all), noun, done, at, sizeText(bytes))
}

// pruneIn returns a function that removes from a data directory the modules that are older than before
// and not used, for operator.Prune.
func pruneIn(dir string) func(before time.Time, dry bool, used func() (map[string]bool, error)) ([]host.HeldModule, error) {
	return func(before time.Time, dry bool, used func() (map[string]bool, error)) ([]host.HeldModule, error) {
		return host.PruneModules(dir, before, dry, used)
	}
}
