package main

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/wasmjob/wasmjob/host/config"
	"github.com/wasmjob/wasmjob/host/operator"
)

// listedAlerts is the JSON of alert list. Scripts read it: add fields, but do not change any.
type listedAlerts struct {
	Version  int                `json:"version"`
	Alerts   []operator.Alert   `json:"alerts"`
	Silences []operator.Silence `json:"silences"`
}

type silenced struct {
	Version int `json:"version"`
	operator.Silence
}

// alertCommand has the verbs about alerts.
func alertCommand(term *terminal) *cobra.Command {
	c := &cobra.Command{
		Use: "alert", Short: "See what is wrong with jobs, and silence their alerts for a while",
		Long: "A job with notify has an alert as long as something is wrong with it: it failed, missed an\n" +
			"instant, is late or takes too long.",
	}
	return operatorNoun(term, c, alertList, alertSilence, alertUnsilence)
}

func alertList(o *operatorVerb) *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "Show the alerts and silences of jobs", Args: cobra.NoArgs,
		Long: "Shows for each job and kind of alert since when it lasts, how often it was seen and for which\n" +
			"items, which notifiers have not sent its newest message yet (UNSENT), and what went wrong last.\n" +
			"The silences of jobs follow.",
		RunE: func(c *cobra.Command, _ []string) error {
			return o.ask(c.Context(), func(ctx context.Context, _ *config.File, op cluster) error {
				alerts, silences, err := op.Alerts(ctx)
				switch {
				case err != nil:
					return err
				case o.term.json():
					return o.term.printJSON(listedAlerts{1, append([]operator.Alert{}, alerts...), append([]operator.Silence{}, silences...)})
				}
				return printAlerts(o.term, alerts, silences)
			})
		},
	}
}

func printAlerts(term *terminal, alerts []operator.Alert, silences []operator.Silence) error {
	if len(alerts) == 0 {
		term.note("there is no alert")
	} else {
		w := table(term, "JOB\tALERT\tSINCE\tCOUNT\tITEMS\tUNSENT\tWHAT")
		for _, a := range alerts {
			unsent := strings.Join(a.Untold, ",")
			if a.Silenced {
				unsent += " (silenced)"
			}
			what := a.Text
			if !a.Over.IsZero() { // the problem has ended, and not all notifiers have sent that yet
				what = "over since " + stamp(a.Over.UnixMilli(), time.UTC)
			}
			items := strings.ReplaceAll(strings.Trim(fmt.Sprint(a.Items), "[]"), " ", ",")
			fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%s\t%s\t%s\n", plain(a.Job), plain(a.Kind), stamp(a.First.UnixMilli(), time.UTC), a.Count,
				orDash(items), orDash(plain(strings.TrimSpace(unsent))), orDash(plain(what)))
		}
		if err := flush(w); err != nil {
			return err
		}
	}
	if len(silences) == 0 {
		return nil
	}
	w := table(term, "SILENCED\tUNTIL\tBY\tREASON")
	for _, s := range silences {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", cmp.Or(plain(s.Job), "all jobs"), stamp(s.Until.UnixMilli(), time.UTC), orDash(plain(s.By)), orDash(plain(s.Why)))
	}
	return flush(w)
}

func alertSilence(o *operatorVerb) *cobra.Command {
	var life time.Duration
	var why string
	c := &cobra.Command{
		Use: "silence JOB", Short: "Send no alerts of a job for a while", Args: cobra.ExactArgs(1),
		Long: "While a job is silenced, its failures raise no alert. The message of an earlier alert that has not\n" +
			"been sent yet is sent when the silence ends. A new silence replaces the present one.",
		Example: `  wasmjobd alert silence report --for 1h --reason "the database moves"`,
	}
	c.Flags().DurationVar(&life, "for", 0, "`duration` of the silence, such as 90m or 12h, at most 30 days; required")
	c.Flags().StringVar(&why, "reason", "", "reason, for the people who see it")
	c.RunE = func(c *cobra.Command, args []string) error {
		if !c.Flags().Changed("for") {
			return usage("write a duration, such as --for 1h")
		}
		return o.ask(c.Context(), func(ctx context.Context, _ *config.File, op cluster) error {
			s, err := op.Silence(ctx, args[0], life, why)
			if err != nil {
				return err
			}
			return o.term.answer(silenced{1, s}, "%s: silenced until %s\n", plain(args[0]), stamp(s.Until.UnixMilli(), time.UTC))
		})
	}
	return c
}

func alertUnsilence(o *operatorVerb) *cobra.Command {
	return &cobra.Command{
		Use: "unsilence JOB", Short: "End the silence of a job", Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return o.ask(c.Context(), func(ctx context.Context, _ *config.File, op cluster) error {
				if err := op.Unsilence(ctx, args[0]); err != nil {
					return err
				}
				return o.term.answer(map[string]any{"version": 1, "unsilenced": args[0]}, "%s: no longer silenced\n", plain(args[0]))
			})
		},
	}
}
