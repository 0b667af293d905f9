package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/wasmjob/wasmjob/host/config"
	"github.com/wasmjob/wasmjob/host/operator"
	"github.com/wasmjob/wasmjob/host/trace"
	"github.com/wasmjob/wasmjob/host/trace/sqltrace"
)

// runCommand has the verbs about single runs.
func runCommand(term *terminal) *cobra.Command {
	return operatorNoun(term, &cobra.Command{Use: "run", Short: "Show single runs: logs"}, runLogs)
}

// loggedRun is the JSON of run logs. Scripts read it: add fields, but do not change any.
type loggedRun struct {
	Version  int                   `json:"version"`
	Attempts []operator.AttemptLog `json:"attempts"`
	Unread   []string              `json:"unread,omitempty"`
}

func runLogs(o *operatorVerb) *cobra.Command {
	o.readOnly, o.readsHistory = true, true
	var follow bool
	c := &cobra.Command{
		Use: "logs JOB/ITEM/RUN", Short: "Show the logs of a run's attempts, also while it runs", Args: cobra.ExactArgs(1),
		Long: "Name the run as the log and the history do, or with the time of its instant instead of its id. The\n" +
			"last 8 KiB of each attempt's log are kept. A running server shows its own runs and, with\n" +
			"--address, also those of the other servers. If no server is asked, the verb reads the history of\n" +
			"the configuration.\n\n" +
			"With --follow it shows the log of the newest attempt as it comes, until the attempt ends.",
		Example: "  wasmjobd run logs daily-report/0/2026-01-31T12:00:00Z\n" +
			"  wasmjobd run logs daily-report/0/1769860800000 --follow --address https://10.0.0.1:8680",
	}
	c.Flags().BoolVarP(&follow, "follow", "f", false, "show lines as they come, until the attempt ends")
	c.RunE = func(c *cobra.Command, args []string) error {
		name, err := operator.ParseRun(args[0])
		if err != nil {
			return coded(err)
		}
		o.unbounded = follow
		return o.ask(c.Context(), func(ctx context.Context, _ *config.File, op cluster) error {
			if follow {
				return o.followLog(ctx, op, name)
			}
			all, unread, err := op.RunLog(ctx, name)
			if err != nil {
				return err
			}
			if o.term.json() {
				return o.term.printJSON(loggedRun{1, all, unread})
			}
			printLogs(o.term, all, unread)
			return nil
		})
	}
	return c
}

// followLog prints lines as they come; as JSON, one part per line.
func (o *operatorVerb) followLog(ctx context.Context, op cluster, name operator.RunName) error {
	return op.FollowRunLog(ctx, name, operator.LogPart{}, func(p operator.LogPart) error {
		if o.term.json() {
			return o.term.printJSONLine(p)
		}
		if p.Gap {
			o.term.note("lines are missing here")
		}
		o.term.printf("%s", p.Text)
		return nil
	})
}

func printLogs(term *terminal, all []operator.AttemptLog, unread []string) {
	for _, a := range all {
		if len(all) > 1 {
			term.note("attempt %d", a.Attempt)
		}
		switch {
		case a.Log != "":
			term.printf("%s", a.Log)
		case a.Kept: // there is a log, and it is empty
			term.note("nothing was logged")
		default:
			term.note("the log is not kept; see the log of the server %s", a.Instance)
		}
	}
	term.noteUnread(unread)
}

// runIn returns a function that reads the attempts of a run, with their logs, from a history.
func runIn(rows *sqltrace.Reader) func(context.Context, operator.RunName) ([]trace.Row, error) {
	return func(ctx context.Context, n operator.RunName) ([]trace.Row, error) {
		page, err := rows.Query(ctx, sqltrace.Filter{Job: n.Job, Item: &n.Item, Run: n.Run, Limit: maxAttempts, Logs: true})
		return page.Rows, err
	}
}

// maxAttempts is the number of attempts shown: the newest, with 16 KiB each.
const maxAttempts = 100

// ownRunHistory is runIn for the configuration's own history. It opens the history for each call. A server
// that has not run here yet has none, so no attempts either.
func ownRunHistory(term *terminal, f *config.File) func(context.Context, operator.RunName) ([]trace.Row, error) {
	return func(ctx context.Context, n operator.RunName) (all []trace.Row, err error) {
		err = withOwnHistory(ctx, term, f, func(rows *sqltrace.Reader) error {
			all, err = runIn(rows)(ctx, n)
			return err
		})
		return all, err
	}
}
