package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/wasmjob/wasmjob/host/config"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/operator"
	"github.com/wasmjob/wasmjob/host/trace"
	"github.com/wasmjob/wasmjob/host/trace/sqltrace"
)

// explainedJob is the JSON of job explain. Scripts read it: add fields, but do not change any.
type explainedJob struct {
	Version int `json:"version"`
	*operator.Explanation
}

func jobExplain(o *operatorVerb) *cobra.Command {
	o.readOnly, o.readsHistory = true, true
	var at string
	c := &cobra.Command{
		Use: "explain JOB [ITEM]", Short: "Show why a job ran at an instant, or did not", Args: cobra.RangeArgs(1, 2),
		Long: "Explain says for each item whether it ran at an instant, on which server and when, or what\n" +
			"prevented it. It reads the rows in the registry and this server's history, or with --address the\n" +
			"histories of all servers. If no row has the answer, explain uses the present state of the job and\n" +
			"its items. Servers that did not answer are listed. Only the newest 1,000 rows up to the instant\n" +
			"are read, and all others of the oldest of their instants; with ITEM, the newest 1,000 of that item.",
		Example: "  wasmjobd job explain report 3 --at 2026-01-31T02:00:00Z",
	}
	c.Flags().StringVar(&at, "at", "", "`instant`: a time as in RFC 3339, or its age, such as 2h (default: the newest instant that was due)")
	c.RunE = func(c *cobra.Command, args []string) error {
		q := operator.Question{Job: args[0]}
		if len(args) > 1 {
			item, err := strconv.Atoi(args[1])
			if err != nil || item < 0 {
				return usage("%q is not the number of an item", args[1])
			}
			q.Item = &item
		}
		ms, err := parseMoment("at", at, time.Now())
		if err != nil {
			return err
		}
		if ms != 0 {
			q.At = time.UnixMilli(ms)
		}
		return o.ask(c.Context(), func(ctx context.Context, f *config.File, op cluster) error {
			e, err := op.Explain(ctx, q)
			if err != nil {
				return withNearest(ctx, op, q.Job, err)
			}
			if o.term.json() {
				return o.term.printJSON(explainedJob{1, e})
			}
			return printExplained(o.term, e, cmp.Or(zonesOf(f.Jobs)[q.Job], time.UTC))
		})
	}
	return c
}

// explainedRows bounds the rows that are read from a history at once.
const explainedRows = 1000

// historyIn returns a function that reads the newest rows of a job from a history.
func historyIn(rows *sqltrace.Reader) operator.History {
	return func(ctx context.Context, name string, item *int, upTo time.Time) ([]trace.Row, []string, error) {
		page, err := rows.Query(ctx, sqltrace.Filter{Job: name, Item: item, Until: upTo.UnixMilli() + 1, Limit: explainedRows, Bare: true})
		all := page.Rows
		for err == nil && item == nil && page.Next != "" && len(all) < job.MaxShards {
			// The other rows of the oldest instant, so that of no run some items are missing.
			oldest := all[len(all)-1].Instant
			page, err = rows.Query(ctx, sqltrace.Filter{Job: name, Since: oldest, Until: oldest + 1, Limit: explainedRows, Cursor: page.Next, Bare: true})
			all = append(all, page.Rows...)
		}
		return all, nil, err
	}
}

// ownHistory is historyIn for the configuration's own history, which it opens for each call.
func ownHistory(term *terminal, f *config.File) operator.History {
	return func(ctx context.Context, name string, item *int, upTo time.Time) (all []trace.Row, unread []string, err error) {
		err = withOwnHistory(ctx, term, f, func(rows *sqltrace.Reader) error {
			all, unread, err = historyIn(rows)(ctx, name, item, upTo)
			return err
		})
		return all, unread, err
	}
}

// withOwnHistory opens the configuration's own history for do. A server that has not run here
// yet has none.
func withOwnHistory(ctx context.Context, term *terminal, f *config.File, do func(*sqltrace.Reader) error) error {
	if f.History.Path != "" {
		if _, err := os.Stat(f.History.Path); errors.Is(err, fs.ErrNotExist) {
			return nil
		}
	}
	at, err := historyAt(term, f)
	if err != nil {
		return err
	}
	rows, err := sqltrace.OpenReader(ctx, at)
	if err != nil {
		return err
	}
	return errors.Join(do(rows), rows.Close())
}

// printExplained shows an explanation, with times in a zone.
func printExplained(term *terminal, e *operator.Explanation, zone *time.Location) error {
	if e.At.IsZero() && e.Unreadable.None() { // no instant was named, and the schedule has none
		term.printf("job %s has no schedule: write --at with the time of its trigger\n", plain(e.Job))
		return nil
	}
	printDue(term, e, zone)
	w := table(term, "ITEM\tVERDICT\tSERVER\tSINCE\tUNTIL\tWHY")
	for i := range e.Items {
		x := &e.Items[i]
		fmt.Fprintf(w, "%d\t%s\t%s\t%s\t%s\t%s\n", x.Item, verdictOf(x), orDash(plain(string(x.Server))),
			orDash(stamp(millis(x.Since), zone)), orDash(stamp(millis(x.Until), zone)), orDash(whyOf(x)))
	}
	if err := flush(w); err != nil {
		return err
	}
	for _, why := range e.Now {
		term.printf("now: %s\n", plainUpTo(sentenceLimit, why.WithHint()))
	}
	term.noteUnread(e.Unread)
	return nil
}

// sourceOf says where the instants of the job come from.
func sourceOf(e *operator.Explanation) string {
	if len(e.RunsAfter) == 0 {
		return "of its schedule"
	}
	return "at which " + plainUpTo(sentenceLimit, strings.Join(e.RunsAfter, " and ")) + " ended well"
}

// printDue says whether the job has the instant.
func printDue(term *terminal, e *operator.Explanation, zone *time.Location) {
	at := ""
	if !e.At.IsZero() {
		at = " at " + stamp(millis(e.At), zone)
	}
	due := "an"
	switch {
	case !e.Unreadable.None():
		term.printf("job %s%s: %s\n", plain(e.Job), at, plainUpTo(sentenceLimit, e.Unreadable.String()))
		return
	case !e.Due:
		due = "no"
	}
	term.printf("job %s%s: %s instant %s\n", plain(e.Job), at, due, sourceOf(e))
	term.printf("instant before %s, after %s\n", orDash(stamp(millis(e.Before), zone)), orDash(stamp(millis(e.After), zone)))
}

// verdictOf returns a verdict in words.
func verdictOf(x *operator.Explained) string {
	verdict := strings.ReplaceAll(x.Verdict, "_", " ")
	if x.State != "" && x.Verdict == operator.Ran {
		verdict += ", " + string(x.State)
	}
	if x.Param != "" {
		verdict += ", with " + strconv.Quote(shorten(x.Param))
	}
	return plain(verdict)
}

// whyOf returns the reason with its code.
func whyOf(x *operator.Explained) string {
	if x.Why.Code == "" {
		return plain(x.Why.String())
	}
	return plain(x.Why.String()) + " (" + string(x.Why.Code) + ")"
}
