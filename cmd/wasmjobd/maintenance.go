package main

import (
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/wasmjob/wasmjob/host/config"
	"github.com/wasmjob/wasmjob/host/operator"
)

// shownMaintenance is the JSON of the verbs below maintenance. Scripts read it: add fields, but
// do not change any.
type shownMaintenance struct {
	Version     int                   `json:"version"`
	Maintenance *operator.Maintenance `json:"maintenance"` // null if there is none
}

// maintenanceCommand has the verbs about maintenance.
func maintenanceCommand(term *terminal) *cobra.Command {
	c := &cobra.Command{
		Use: "maintenance", Short: "Suppress alerts and pause jobs during maintenance",
		Long: "During a maintenance, no alert of any job is sent, and the jobs that it names are paused. There is\n" +
			"one maintenance at a time. It ends by itself when its time is over: alerts are sent again and the\n" +
			"jobs go on, but a job that was paused before stays paused, until its own end. If that comes during\n" +
			"the maintenance, the pause lasts as long as the maintenance.",
	}
	return operatorNoun(term, c, maintenanceStart, maintenanceList, maintenanceEnd)
}

func maintenanceStart(o *operatorVerb) *cobra.Command {
	var t operator.MaintenanceTerms
	c := &cobra.Command{
		Use: "start", Short: "Begin a maintenance", Args: cobra.NoArgs,
		Long:    "Problems during a maintenance raise no alert. Without --job and --all no job is paused.",
		Example: `  wasmjobd maintenance start --for 1h --reason "the database moves" --job report`,
	}
	c.Flags().DurationVar(&t.For, "for", 0, "`duration` of the maintenance, such as 90m or 12h, at most 30 days; required")
	c.Flags().StringVar(&t.Why, "reason", "", "reason, for the people who see it")
	c.Flags().StringSliceVar(&t.Jobs, "job", nil, "pause this `job`, or several, such as a,b")
	c.Flags().BoolVar(&t.All, "all", false, "pause all jobs")
	c.MarkFlagsMutuallyExclusive("job", "all")
	c.RunE = func(c *cobra.Command, _ []string) error {
		if !c.Flags().Changed("for") {
			return usage("write a duration, such as --for 1h")
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
		Use: "list", Short: "Show the present maintenance", Args: cobra.NoArgs,
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
		Use: "end", Short: "End the maintenance early", Args: cobra.NoArgs,
		Long: "Alerts are sent again. The jobs that the maintenance paused go on, except those that were paused\n" +
			"again since.",
		RunE: func(c *cobra.Command, _ []string) error {
			return o.maintenance(c.Context(), func(ctx context.Context, op cluster) (*operator.Maintenance, string, error) {
				m, err := op.EndMaintenance(ctx)
				return m, "ended", err
			})
		},
	}
}

// maintenance runs a verb and shows the maintenance that it returns. what says what became of it, such as
// "started".
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
		if len(m.Resumed) > 0 {
			o.term.printf("resumed: %s\n", plainUpTo(sentenceLimit, strings.Join(m.Resumed, ", ")))
		}
		if len(m.Paused) > 0 {
			o.term.printf("paused: %s\n", plainUpTo(sentenceLimit, strings.Join(m.Paused, ", ")))
		}
		if len(m.NotPaused) > 0 {
			o.term.printf("not paused, as no server of ours has run them, or they are gone: %s\n", plainUpTo(sentenceLimit, strings.Join(m.NotPaused, ", ")))
		}
		return nil
	})
}

// reasonOf returns a reason after a colon, or "".
func reasonOf(why string) string {
	if why == "" {
		return ""
	}
	return ": " + plainUpTo(sentenceLimit, why)
}
