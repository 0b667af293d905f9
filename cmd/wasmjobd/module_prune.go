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
		Use: "prune", Short: "Remove modules that nothing uses from the disks of servers", Args: cobra.NoArgs,
		Long: "Prune removes what no job of the cluster runs, is to run, can go back to or is dealt by, what has no\n" +
			"name, and what the server got more than a day ago. The server that is asked does so on the disks of all,\n" +
			"or with --here on its own; on ZooKeeper without --address it is the data_dir of the configuration. If it is not\n" +
			"known of one job what it uses, or a server that can be asked is silent, nothing is removed. Others that\n" +
			"only jobs know, such as one that is down, are named, and keep what they have.",
		Example: "  wasmjobd module prune --dry-run",
	}
	c.Flags().BoolVar(&p.DryRun, "dry-run", false, "list them, and remove none")
	c.Flags().BoolVar(&p.Here, "here", false, "only on the disk of the server that is asked")
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

// printPruned prints what was removed, or would be, at a place.
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

// pruneIn removes modules from a data directory.
func pruneIn(dir string) func(before time.Time, dry bool, used func() (map[string]bool, error)) ([]host.HeldModule, error) {
	return func(before time.Time, dry bool, used func() (map[string]bool, error)) ([]host.HeldModule, error) {
		return host.PruneModules(dir, before, dry, used)
	}
}
