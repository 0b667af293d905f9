package main

import (
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/wasmjob/wasmjob/host/config"
	"github.com/wasmjob/wasmjob/host/operator"
)

// shownMaintenance is the JSON of the verbs of maintenance. Scripts read it: add fields, change none.
type shownMaintenance struct {
	Version     int                   `json:"version"`
	Maintenance *operator.Maintenance `json:"maintenance"` // null: there is none
}

// maintenanceCommand holds the verbs of maintenance.
func maintenanceCommand(term *terminal) *cobra.Command {
	c := &cobra.Command{
		Use: "maintenance", Short: "Keep alerts quiet, and jobs paused, while something is mended",
		Long: "While a maintenance lasts, no alert of any job is sent, and the jobs that it names are paused.\n" +
			"There is one maintenance at a time. It ends by itself when its time is over: alerts are sent again\n" +
			"and the jobs go on, but a job that was paused before stays paused.",
	}
	return operatorNoun(term, c, maintenanceStart, maintenanceList, maintenanceEnd)
}

func maintenanceStart(o *operatorVerb) *cobra.Command {
	var t operator.MaintenanceTerms
	c := &cobra.Command{
		Use: "start", Short: "Begin a maintenance", Args: cobra.NoArgs,
		Long:    "What goes wrong during a maintenance makes no alert. Without --job and --all no job is paused.",
		Example: `  wasmjobd maintenance start --for 1h --reason "the database moves" --job report`,
	}
	c.Flags().DurationVar(&t.For, "for", 0, "this `time`, up to 30 days: 90m, 12h")
	c.Flags().StringVar(&t.Why, "reason", "", "why, for those who look at it")
	c.Flags().StringSliceVar(&t.Jobs, "job", nil, "pause this `job`, or several, as in a,b")
	c.Flags().BoolVar(&t.All, "all", false, "pause all jobs")
	c.MarkFlagsMutuallyExclusive("job", "all")
	c.RunE = func(c *cobra.Command, _ []string) error {
		if !c.Flags().Changed("for") {
			return usage("write for how long: --for 1h")
		}
		return o.maintenance(c.Context(), func(ctx context.Context, op cluster) (*operator.Maintenance, string, error) {
			m, err := op.StartMaintenance(ctx, t)
			return m, "started", err
		})
	}
	return c
}

func maintenanceList(o *operatorVerb) *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "Show the maintenance that goes on", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return o.maintenance(c.Context(), func(ctx context.Context, op cluster) (*operator.Maintenance, string, error) {
				m, err := op.Maintenance(ctx)
				return m, "goes on", err
			})
		},
	}
}

func maintenanceEnd(o *operatorVerb) *cobra.Command {
	return &cobra.Command{
		Use: "end", Short: "End the maintenance before its time", Args: cobra.NoArgs,
		Long: "Alerts are sent again. The jobs that the maintenance paused go on, except those that were paused anew since.",
		RunE: func(c *cobra.Command, _ []string) error {
			return o.maintenance(c.Context(), func(ctx context.Context, op cluster) (*operator.Maintenance, string, error) {
				m, err := op.EndMaintenance(ctx)
				return m, "ended", err
			})
		},
	}
}

// maintenance shows the maintenance that a verb returns.
func (o *operatorVerb) maintenance(ctx context.Context, do func(context.Context, cluster) (m *operator.Maintenance, what string, err error)) error {
	return o.ask(ctx, func(ctx context.Context, _ *config.File, op cluster) error {
		m, what, err := do(ctx, op)
		switch {
		case err != nil:
			return err
		case o.term.json():
			return o.term.printJSON(shownMaintenance{1, m})
		case m == nil:
			o.term.note("there is no maintenance")
			return nil
		}
		o.term.printf("maintenance: %s, since %s until %s by %s%s\n", what, stamp(millis(m.Since), time.UTC), stamp(millis(m.Until), time.UTC), orDash(plain(m.By)),
			reasonOf(m.Why))
		if len(m.Paused) > 0 {
			o.term.printf("paused: %s\n", plainUpTo(sentenceLimit, strings.Join(m.Paused, ", ")))
		}
		if len(m.NotPaused) > 0 {
			o.term.printf("not paused, as no server of ours has run them, or they are gone: %s\n", plainUpTo(sentenceLimit, strings.Join(m.NotPaused, ", ")))
		}
		return nil
	})
}

// reasonOf is a reason behind a colon, if there is one.
func reasonOf(why string) string {
	if why == "" {
		return ""
	}
	return ": " + plainUpTo(sentenceLimit, why)
}
