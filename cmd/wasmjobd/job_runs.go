package main

import (
	"context"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/wasmjob/wasmjob/host/config"
	"github.com/wasmjob/wasmjob/host/operator"
)

func jobTrigger(o *operatorVerb) *cobra.Command {
	o.needsServer = true
	key, items := "", []int(nil)
	c := jobVerb("trigger", "Run all items of a job now; overlap decides about running items", "asked to run now", func(op cluster, ctx context.Context, name string) error {
		switch {
		case len(items) > 0:
			_, err := op.TriggerItems(ctx, name, operator.ItemsWanted{Items: items})
			return err
		case key == "":
			return op.Trigger(ctx, name)
		}
		t, err := op.TriggerOnce(ctx, name, key)
		if err == nil && t.Again {
			return asBefore("this key triggered it before, so nothing is triggered now")
		}
		return err
	})(o)
	c.Long = "With --item only some items run, each when it is idle. Such a run does not begin if the next\n" +
		"instant of its item comes first; its row says so. While members of ElasticJob share the job, only\n" +
		"all items can run. A trigger is a message to each member and has no parameter: use job run --param\n" +
		"for that. With --key a trigger is of all items; job run takes --key together with --item."
	c.Flags().StringVar(&key, "key", "", "idempotency `key`: within a day, trigger only once with this key")
	c.Flags().IntSliceVar(&items, "item", nil, "run only these `items`, such as 1,3")
	c.MarkFlagsMutuallyExclusive("key", "item")
	return c
}

// askedRuns is the JSON of verbs that make items run.
type askedRuns struct {
	Version int    `json:"version"`
	Job     string `json:"job"`
	operator.Asked
}

func jobRetry(o *operatorVerb) *cobra.Command {
	o.needsServer, o.readsHistory = true, true
	var items []int
	c := &cobra.Command{
		Use: "retry JOB [RUN]", Short: "Run the failed items of a run again", Args: cobra.RangeArgs(1, 2),
		Long: "RUN is the id of a run, or its time as history list shows it; without it, the newest run that\n" +
			"failed is taken. The items of the run that failed, timed out, were cancelled or were lost with\n" +
			"their server run again, as the next attempt of the same run; existing rows stay. Guests get the\n" +
			"same instant and the same parameter.\n\n" +
			"The results of the items come from this server's history or, with --address, from those of all\n" +
			"servers. Servers that did not answer are listed, since their histories may have a later attempt.\n" +
			"An item's attempt begins when the item is idle. If its next instant comes before that, the attempt\n" +
			"is dropped, and a row says so. The requested attempt is not retried automatically if the job's\n" +
			"retries are used up.",
		RunE: func(c *cobra.Command, args []string) error {
			name, run, err := jobAndRun(args)
			if err != nil {
				return err
			}
			return o.ask(c.Context(), func(ctx context.Context, _ *config.File, op cluster) error {
				asked, err := op.Retry(ctx, name, run, items)
				if err != nil {
					return withNearest(ctx, op, name, err)
				}
				return o.printAsked(name, asked)
			})
		},
	}
	c.Flags().IntSliceVar(&items, "item", nil, "only these `items`, such as 1,3")
	return c
}

// jobAndRun returns the job and the run in the arguments JOB [RUN]. It refuses an empty run, which is probably an unset
// variable in a script; "" means that there is none.
func jobAndRun(args []string) (job, run string, err error) {
	if len(args) < 2 {
		return args[0], "", nil
	}
	if args[1] == "" {
		return "", "", usage("RUN is empty; write the id of a run or its time, or leave it out")
	}
	return args[0], args[1], nil
}

func (o *operatorVerb) printAsked(name string, asked operator.Asked) error {
	if o.term.json() {
		return o.term.printJSON(askedRuns{1, name, asked})
	}
	items := make([]string, len(asked.Items))
	for k, i := range asked.Items {
		items[k] = strconv.Itoa(i)
	}
	noun := "items"
	if len(items) == 1 {
		noun = "item"
	}
	o.term.printf("%s: requested run %s of %s %s\n", plain(name), plain(asked.Run), noun, strings.Join(items, ", "))
	o.term.noteUnread(asked.Unread)
	return nil
}

// cancelledRuns is the JSON of cancel.
type cancelledRuns struct {
	Version int                `json:"version"`
	Job     string             `json:"job"`
	Runs    []operator.OpenRun `json:"runs"`
}

func jobCancel(o *operatorVerb) *cobra.Command {
	o.needsServer = true
	var item int
	var now bool
	c := &cobra.Command{
		Use: "cancel JOB [RUN]", Short: "Cancel running items of a job", Args: cobra.RangeArgs(1, 2),
		Long: "The guests of the job's open runs are asked to stop, and ended after their grace; with --now they\n" +
			"are ended at once. Their rows have the state cancelled, and only job retry runs them again. Runs\n" +
			"of members of ElasticJob cannot be cancelled. RUN is the id of a run, or its time as history list\n" +
			"shows it; without it, all open runs are cancelled, at most 500 at once.",
		RunE: func(c *cobra.Command, args []string) error {
			name, run, err := jobAndRun(args)
			if err != nil {
				return err
			}
			f := operator.CancelFilter{Run: run, Now: now}
			if c.Flags().Changed("item") {
				f.Item = &item
			}
			return o.ask(c.Context(), func(ctx context.Context, _ *config.File, op cluster) error {
				runs, err := op.Cancel(ctx, name, f)
				switch {
				case err != nil:
					return withNearest(ctx, op, name, err)
				case o.term.json():
					return o.term.printJSON(cancelledRuns{1, name, runs})
				}
				for _, r := range runs {
					o.term.printf("%s: asked run %s of item %d on %s to end\n", plain(name), plain(r.Run), r.Item, plain(string(r.Instance)))
				}
				return nil
			})
		},
	}
	c.Flags().IntVar(&item, "item", 0, "only this item")
	c.Flags().BoolVar(&now, "now", false, "end it at once, without its grace")
	return c
}
