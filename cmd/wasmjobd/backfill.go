package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/wasmjob/wasmjob/host/config"
	"github.com/wasmjob/wasmjob/host/operator"
)

// backfillJSON is the JSON of backfill. Scripts read it: add fields, but do not change any.
type backfillJSON struct {
	Version int `json:"version"`
	operator.Backfill
}

func backfillCommand(term *terminal) *cobra.Command {
	o := &operatorVerb{term: term, needsServer: true, readsHistory: true}
	var r operator.BackfillRange
	var from, to string
	var cancel bool
	c := &cobra.Command{
		Use: "backfill JOB", Short: "Run missed instants of a job", Args: cobra.ExactArgs(1),
		Long: "backfill runs the instants that the history has as missed, from --from until right before --to.\n" +
			"Each item runs its instants one after the other, the oldest first, and only while it has no other\n" +
			"run. The cause of such a run is backfill; its id and its time are those of the instant. Failed runs\n" +
			"are retried as usual, until the item's next scheduled instant.\n\n" +
			"The registry keeps the runs until they begin, so a change of the leader or the owner, or the death\n" +
			"of a server, loses none. They wait while the job is paused or the item disabled. backfill refuses\n" +
			"an item that is disabled already; it accepts a job that is paused already.\n\n" +
			"With --address, backfill reads the histories of all servers, otherwise the history that the\n" +
			"configuration names: for each item, the newest 1,000 rows before --to. It refuses to continue if a\n" +
			"history cannot be read, because that history may show that an instant was run; --force continues\n" +
			"without that history. One request has at most 1,000 instants and 10,000 runs. backfill is refused\n" +
			"while members of ElasticJob share the job. --cancel discards runs that have not begun.",
		Example: "  wasmjobd backfill report --from 2026-01-31T00:00:00Z --to 2026-02-01T00:00:00Z --dry-run\n  wasmjobd backfill report --cancel",
	}
	o.files = configFlag(c)
	c.Flags().StringVar(&from, "from", "", "first `instant`: a time as in RFC 3339, or its age, such as 2h")
	c.Flags().StringVar(&to, "to", "now", "end, which is excluded: a `time` as in RFC 3339, or its age, such as 2h")
	c.Flags().IntSliceVar(&r.Items, "item", nil, "only these `items`, such as 1,3")
	c.Flags().BoolVar(&r.DryRun, "dry-run", false, "show what would run, and why the rest would not, without requesting it")
	c.Flags().StringVar(&r.Key, "key", "", "idempotency `key`: a second request with it within a day does nothing")
	c.Flags().BoolVar(&r.Force, "force", false, "continue even if the history of a server cannot be read")
	c.Flags().BoolVar(&cancel, "cancel", false, "discard the waiting runs")
	c.MarkFlagsOneRequired("from", "cancel")
	for _, flag := range []string{"from", "to", "dry-run", "key", "force"} {
		c.MarkFlagsMutuallyExclusive("cancel", flag)
	}
	c.Flags().DurationVar(&o.timeout, "timeout", defaultPatience, "how long to wait for the registry or the server")
	o.elsewhere.add(c)
	c.RunE = func(c *cobra.Command, args []string) error {
		if err := parseRange(&r, from, to); err != nil {
			return err
		}
		if cancel {
			return o.each(c.Context(), args, "nothing of a backfill waits any more", func(ctx context.Context, op cluster, name string) error {
				return op.CancelBackfill(ctx, name, r.Items)
			})
		}
		return o.ask(c.Context(), func(ctx context.Context, _ *config.File, op cluster) error {
			b, err := op.Backfill(ctx, args[0], r)
			if err != nil {
				return withNearest(ctx, op, args[0], err)
			}
			return printBackfill(term, b)
		})
	}
	return c
}

// parseRange reads --from and --to into r. A flag that is empty leaves the zero time.
func parseRange(r *operator.BackfillRange, from, to string) error {
	now := time.Now()
	for _, x := range []struct {
		flag, text string
		at         *time.Time
	}{{"from", from, &r.From}, {"to", to, &r.To}} {
		ms, err := parseMoment(x.flag, x.text, now)
		if err != nil {
			return err
		}
		if *x.at = time.UnixMilli(ms); ms == 0 {
			*x.at = time.Time{}
		}
	}
	return nil
}

// printBackfill shows which instants begin, or would begin, and which are left out, with the reasons.
func printBackfill(term *terminal, b operator.Backfill) error {
	if term.json() {
		return term.printJSON(backfillJSON{1, b})
	}
	if b.Again { // a repeated --key
		term.note("%s: this key asked for a backfill before, so nothing is asked for now", plain(b.Job))
		return nil
	}
	done := "begins"
	if b.DryRun {
		done = "would begin"
	}
	at := func(t time.Time) string { return stamp(millis(t), time.UTC) }
	for _, it := range b.Items {
		last := it.Instants[len(it.Instants)-1]
		term.printf("%s: item %d %s %s, from %s to %s\n", plain(b.Job), it.Item, done, count(len(it.Instants), "instant"), at(it.Instants[0]), at(last))
	}
	for _, x := range b.LeftOut {
		term.printf("%s: item %d leaves out %s, from %s to %s: %s\n", plain(b.Job), x.Item, count(x.Count, "instant"), at(x.First), at(x.Last), plain(x.Why))
	}
	if b.Paused {
		term.note("%s: it is paused; nothing of this begins before the pause ends", plain(b.Job))
	}
	return nil
}
