package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/wasmjob/wasmjob/host/operator"
)

func jobPause(o *operatorVerb) *cobra.Command {
	var until, reason string
	var life time.Duration
	c := &cobra.Command{
		Use: "pause JOB...", Short: "Pause a job for a while or until it is resumed; one row records the missed instants", Args: cobra.MinimumNArgs(1),
		Long: "The output of list, show and explain shows who paused the job, why and until when; so does the\n" +
			"row of the missed instants. With --for or --until the pause ends by itself, by the clock of the\n" +
			"registry; an instant at its end begins. A new pause replaces the present one. Servers of a release\n" +
			"without such ends see a pause without an end.",
		Example: `  wasmjobd job pause report --for 2h --reason "the database moves"`,
	}
	c.Flags().StringVar(&reason, "reason", "", "reason, for the people who see it")
	c.Flags().StringVar(&until, "until", "", "end the pause at this `time`, in RFC 3339")
	c.Flags().DurationVar(&life, "for", 0, "end the pause after this `duration`, up to a year: 90m, 12h")
	c.MarkFlagsMutuallyExclusive("until", "for")
	c.RunE = func(c *cobra.Command, args []string) error {
		t, asked := operator.PauseTerms{Why: reason, For: life}, "paused"
		switch {
		case c.Flags().Changed("until"):
			at, err := time.Parse(time.RFC3339, until)
			if err != nil || at.IsZero() { // the zero time would stand for no end
				return usage("--until %s is not a time; write one such as %s", plain(until), time.Now().UTC().Format(time.RFC3339))
			}
			t.Until, asked = at, "paused until "+at.Format(time.RFC3339)
		case c.Flags().Changed("for"):
			if life <= 0 {
				return usage("--for %v: write a positive duration, such as 2h", life)
			}
			asked = "paused for " + life.String()
		}
		return o.each(c.Context(), args, asked, func(ctx context.Context, op cluster, name string) error { return op.Pause(ctx, name, t) })
	}
	return c
}
