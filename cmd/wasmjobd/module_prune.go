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
		Use: "prune", Short: "Remove modules that nothing uses from the disk of a server", Args: cobra.NoArgs,
		Long: "Prune removes what no job of the cluster runs, is to run, can go back to or is dealt by, what has no\n" +
			"name, and what the server got more than a day ago. It works on the disk of the server that is asked, on ZooKeeper\n" +
			"without --address on the data_dir of the configuration. If it is not known of one job what it uses,\n" +
			"nothing is removed.",
		Example: "  wasmjobd module prune --dry-run",
	}
	c.Flags().BoolVar(&p.DryRun, "dry-run", false, "list them, and remove none")
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
			for _, m := range report.Removed {
				o.term.printf("%s\n", m.Digest)
			}
			noun, done := "modules", "removed"
			if len(report.Removed) == 1 {
				noun = "module"
			}
			if p.DryRun {
				done = "would be removed"
			}
			o.term.printf("%d %s %s, %s\n", len(report.Removed), noun, done, sizeText(report.Bytes))
			return nil
		})
	}
	return c
}

// pruneIn removes modules from a data directory.
func pruneIn(dir string) func(before time.Time, dry bool, used func() (map[string]bool, error)) ([]host.HeldModule, error) {
	return func(before time.Time, dry bool, used func() (map[string]bool, error)) ([]host.HeldModule, error) {
		return host.PruneModules(dir, before, dry, used)
	}
}
