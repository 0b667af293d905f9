package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/wasmjob/wasmjob/host/config"
	"github.com/wasmjob/wasmjob/host/operator"
	"github.com/wasmjob/wasmjob/host/trace"
	"github.com/wasmjob/wasmjob/host/trace/sqltrace"
)

// runCommand holds the verbs of single runs.
func runCommand(term *terminal) *cobra.Command {
	return operatorNoun(term, &cobra.Command{Use: "run", Short: "Look after single runs: logs"}, runLogs)
}

// loggedRun is the JSON of run logs. Scripts read it: add fields, change none.
type loggedRun struct {
	Version  int                   `json:"version"`
	Attempts []operator.AttemptLog `json:"attempts"`
	Unread   []string              `json:"unread,omitempty"`
}

func runLogs(o *operatorVerb) *cobra.Command {
	o.readOnly, o.recalls = true, true
	var follow bool
	c := &cobra.Command{
		Use: "logs JOB/ITEM/RUN", Short: "Show what the attempts of a run logged, also while it runs", Args: cobra.ExactArgs(1),
		Long: "A run is named as the log and the history name it, or with the time of its instant in place of its\n" +
			"id. Of each attempt the last 8 KiB are kept. A running server shows what has run there and, asked\n" +
			"by --address, what has run on the others. If no server is asked, the verb reads the history of the\n" +
			"configuration.\n\n" +
			"With --follow it shows what the newest attempt logs, as it comes, until that ends.",
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

// followLog prints lines as they come; as JSON, a part on each line.
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
		case a.Kept:
			term.note("nothing was logged")
		default:
			term.note("the log is not kept; see the log of the server %s", a.Instance)
		}
	}
	term.noteUnread(unread)
}

// runIn looks for a run in a history.
func runIn(rows *sqltrace.Reader) func(context.Context, operator.RunName) ([]trace.Row, error) {
	return func(ctx context.Context, n operator.RunName) ([]trace.Row, error) {
		page, err := rows.Query(ctx, sqltrace.Filter{Job: n.Job, Item: &n.Item, Run: n.Run, Limit: maxAttempts, Logs: true})
		return page.Rows, err
	}
}

// maxAttempts is how many attempts of a run are shown: the newest, with 16 KiB each.
const maxAttempts = 100

// ownRunHistory looks for a run in the history of a configuration; a server that has not
// run here yet has none.
func ownRunHistory(term *terminal, f *config.File) func(context.Context, operator.RunName) ([]trace.Row, error) {
	return func(ctx context.Context, n operator.RunName) (all []trace.Row, err error) {
		err = withOwnHistory(ctx, term, f, func(rows *sqltrace.Reader) error {
			all, err = runIn(rows)(ctx, n)
			return err
		})
		return all, err
	}
}
