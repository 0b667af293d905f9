package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/config"
	"github.com/wasmjob/wasmjob/host/operator"
)

// followPatience is the default time limit for following a run.
const followPatience = 24 * time.Hour

func jobRun(o *operatorVerb) *cobra.Command {
	o.needsServer = true
	var items []int
	var follow bool
	var param, key string
	c := &cobra.Command{
		Use: "run JOB", Short: "Run items of a job now, and optionally wait for them", Args: cobra.ExactArgs(1),
		Long: "All items run now, or those of --item, each when it is idle; the answer names the run. The verb is\n" +
			"refused while the job is paused, and while members of ElasticJob share it. With --follow the verb\n" +
			"waits until every item has ended, on any server, and its retries are over. It exits with 8 if an\n" +
			"item failed or was given up before it began. It reads the results in the registry, so it needs no\n" +
			"history. Ctrl-C ends the waiting, not the run.\n\n" +
			"With --param guests get that text, of at most 1024 bytes, instead of the job parameter. Everyone\n" +
			"who may see the job can see the text, in job show, the history and the audit, so do not put a\n" +
			"secret into it.",
		Example: "  wasmjobd job run report --follow\n  wasmjobd job run report --item 3\n  wasmjobd job run report --param 2026-11 --follow",
	}
	c.Flags().IntSliceVar(&items, "item", nil, "run only these `items`, such as 1,3")
	c.Flags().StringVar(&param, "param", "", "job parameter of this run and its retries, instead of the job's; not for secrets")
	c.Flags().StringVar(&key, "key", "", "idempotency `key`: within a day, run only once with this key, these items and this parameter")
	c.Flags().BoolVar(&follow, "follow", false, "wait until they have ended, at most --timeout (then 24h by default)")
	c.RunE = func(c *cobra.Command, args []string) error {
		if follow && !c.Flags().Changed("timeout") {
			o.timeout = followPatience
		}
		return o.ask(c.Context(), func(ctx context.Context, _ *config.File, op cluster) error {
			before, err := op.Job(ctx, args[0]) // follow compares later reports with it
			if err != nil {
				return withNearest(ctx, op, args[0], err)
			}
			if len(items) == 0 {
				for _, i := range before.Items {
					items = append(items, i.Item)
				}
				if len(items) == 0 {
					return &host.Error{Code: host.Unavailable, Msg: "run job " + plain(args[0]) + ": its items are not assigned yet; try again in a moment"}
				}
			}
			want := operator.ItemsWanted{Items: items, Key: key}
			if c.Flags().Changed("param") {
				want.Param = &param
			}
			asked, err := op.TriggerItems(ctx, args[0], want)
			if err != nil {
				return err
			}
			if asked.Again {
				o.term.note("%s: this key asked for a run before, so nothing is asked for now", plain(args[0]))
			}
			if !follow || asked.Again { // the run of a repeated key may have ended long ago
				return o.printAsked(args[0], asked)
			}
			return o.follow(ctx, op, before, asked)
		})
	}
	return c
}
