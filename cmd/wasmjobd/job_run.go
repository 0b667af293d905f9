package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/config"
	"github.com/wasmjob/wasmjob/host/operator"
)

const (
	// followPatience is how long a run is followed by default.
	followPatience = 24 * time.Hour
	// followPause is the time between two looks at a job.
	followPause = 200 * time.Millisecond
)

// followedRun is the JSON of job run --follow. Scripts read it: add fields, change none.
type followedRun struct {
	Version int         `json:"version"`
	Job     string      `json:"job"`
	Run     string      `json:"run"`
	Items   []endedItem `json:"items"` // as they ended
}

type endedItem struct {
	Item   int       `json:"item"`
	Failed bool      `json:"failed"`
	Ended  time.Time `json:"ended"`
}

func jobRun(o *operatorVerb) *cobra.Command {
	o.needsServer = true
	var items []int
	var follow bool
	c := &cobra.Command{
		Use: "run JOB", Short: "Run items of a job now, and wait for their ends", Args: cobra.ExactArgs(1),
		Long: "All items run now, or those of --item, each when it is idle; the answer names the run. It is refused\n" +
			"while the job is paused, and beside members of ElasticJob. With --follow the verb waits until every\n" +
			"item has ended, on whichever server, and its retries are over, and exits with 8 if one failed. How\n" +
			"items end is read in the registry, so it takes no history. Ctrl-C ends the waiting, not the run.",
		Example: "  wasmjobd job run report --follow\n  wasmjobd job run report --item 3",
	}
	c.Flags().IntSliceVar(&items, "item", nil, "run only these `items`, as in 1,3")
	c.Flags().BoolVar(&follow, "follow", false, "wait until they have ended, at most --timeout (then 24h by default)")
	c.RunE = func(c *cobra.Command, args []string) error {
		if follow && !c.Flags().Changed("timeout") {
			o.timeout = followPatience
		}
		return o.ask(c.Context(), func(ctx context.Context, _ *config.File, op cluster) error {
			before, err := op.Job(ctx, args[0])
			if err != nil {
				return withNearest(ctx, op, args[0], err)
			}
			if len(items) == 0 {
				for _, i := range before.Items {
					items = append(items, i.Item)
				}
			}
			asked, err := op.TriggerItems(ctx, args[0], items)
			if err != nil {
				return err
			}
			if !follow {
				return o.printAsked(args[0], asked)
			}
			return o.follow(ctx, op, before, asked)
		})
	}
	return c
}

// follow waits until the items of a run have ended, and says how.
func (o *operatorVerb) follow(ctx context.Context, op cluster, before *operator.JobReport, asked operator.Asked) error {
	if !o.term.json() {
		o.term.printf("%s: run %s\n", plain(before.Name), plain(asked.Run))
	}
	ended := map[int]time.Time{} // of the runs before
	for _, i := range before.Items {
		ended[i.Item] = i.LastEnd
	}
	seen := followedRun{Version: 1, Job: before.Name, Run: asked.Run}
	failed, open := 0, slices.Clone(asked.Items)
	again := time.NewTicker(followPause)
	defer again.Stop()
	for len(open) > 0 {
		r, err := op.Job(ctx, before.Name)
		if err == nil {
			for _, i := range r.Items {
				at := slices.Index(open, i.Item)
				if at < 0 || i.Pending || i.State == "running" || !i.Retry.IsZero() || i.LastEnd.Equal(ended[i.Item]) {
					continue
				}
				open = slices.Delete(open, at, at+1)
				one := endedItem{Item: i.Item, Failed: i.Failures > 0, Ended: i.LastEnd.UTC()}
				seen.Items = append(seen.Items, one)
				if one.Failed {
					failed++
				}
				o.printEnded(one)
			}
		} else if ctx.Err() == nil {
			return err
		}
		if len(open) == 0 {
			break
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return &host.Error{Code: host.Unavailable, Msg: fmt.Sprintf("follow run %s of job %s: %s of %s has not ended; it goes on", asked.Run, before.Name, count(len(open), "item"), count(len(asked.Items), "item")), Err: context.Cause(ctx)}
		}
	}
	if o.term.json() {
		if err := o.term.printJSON(seen); err != nil {
			return err
		}
	}
	if failed > 0 {
		return exitf(exitRunFailed, "%d of %s failed; see history list --job %s", failed, count(len(asked.Items), "item"), plain(before.Name))
	}
	return nil
}

func (o *operatorVerb) printEnded(one endedItem) {
	if o.term.json() {
		return
	}
	how := "ended well"
	if one.Failed {
		how = "failed"
	}
	o.term.printf("item %d %s\n", one.Item, how)
}
