package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/wasmjob/wasmjob/host/trace"
	"github.com/wasmjob/wasmjob/host/trace/sqltrace"
)

func historyShow(h *historyVerb) *cobra.Command {
	var zone string
	c := &cobra.Command{
		Use:   "show JOB/ITEM/RUN",
		Short: "Show a run with all its attempts: errors, results and logs",
		Long: "Show a run with all its attempts: errors and results as far as they are kept, and the end of the\n" +
			"guest's log. Name the run as the log and --events do, or with the time of \"history list\" instead\n" +
			"of its id: JOB/ITEM/2026-01-31T12:00:00Z. For an instant that was missed with others, their common\n" +
			"row is shown.\n\n" +
			"Attempts on other servers are in their histories: use --with, or --address for a server that asks\n" +
			"the others. For attempts that the registry still has, it is shown how they ended.",
		Example: "  wasmjobd history show daily-report/0/2026-01-31T12:00:00Z --tz Europe/Berlin",
		Args:    cobra.ExactArgs(1),
		RunE:    func(c *cobra.Command, args []string) error { return h.printShow(c.Context(), args[0], zone) },
	}
	h.withFlag(c)
	h.server.add(c)
	zoneFlag(c, &zone)
	return c
}

// errRun says how to name a run.
const errRun = "write job/item/run as the log has it, or job/item/time as \"history list\" shows it"

// filterOf returns the filter for the run that text names: by its id, or by the time of its instant.
func filterOf(text string) (sqltrace.Filter, error) {
	name, rest, _ := strings.Cut(text, "/")
	number, run, ok := strings.Cut(rest, "/")
	item, err := strconv.Atoi(number)
	if !ok || err != nil || name == "" || run == "" {
		return sqltrace.Filter{}, usage("%q: %s", text, errRun)
	}
	f := sqltrace.Filter{Job: name, Item: &item, Run: run, Limit: sqltrace.MaxLimit}
	// All runs of that millisecond. No run is of a time before 1970, and a bound that is not positive is none.
	if at, err := time.Parse(time.RFC3339Nano, run); err == nil && at.UnixMilli() > 0 {
		f.Run, f.Since, f.Until = "", at.UnixMilli(), at.UnixMilli()+1
	}
	return f, nil
}

// shownRun is the JSON of the verb.
type shownRun struct {
	Version  int         `json:"version"`
	Attempts []listedRow `json:"attempts"` // by run, the first attempt first
}

// printShow shows the run that text names, or the row of missed instants that has it. tz is --tz.
func (h *historyVerb) printShow(ctx context.Context, text, tz string) error {
	filter, err := filterOf(text)
	if err != nil {
		return err
	}
	filter.Logs = true
	return h.find(ctx, filter, tz, func(all *found) error {
		if len(all.rows) > 0 {
			return h.showRuns(all)
		}
		if filter.Run != "" { // only a time can lie among missed instants
			return noRun(text, filter.Job, all)
		}
		missed := filter // the newest row of missed instants that begins before this one, and may include it
		missed.Since, missed.State, missed.Limit = 0, trace.Missed, 1
		return h.find(ctx, missed, tz, func(all *found) error {
			if len(all.rows) == 0 || all.rows[0].Last < filter.Since {
				return noRun(text, filter.Job, all)
			}
			return h.showRuns(all)
		})
	})
}

// showRuns prints the attempts of runs.
func (h *historyVerb) showRuns(all *found) error {
	rows := all.rows
	slices.Reverse(rows) // the first attempt first
	if h.term.json() {
		out := shownRun{Version: 1}
		for i := range rows {
			out.Attempts = append(out.Attempts, rowOf(&rows[i]))
		}
		return h.term.printJSON(out)
	}
	h.term.printf("all times in %s\n", all.zone)
	for i := range rows {
		if i == 0 || rows[i].Run != rows[i-1].Run {
			printRun(h.term, &rows[i].Row, all.zone)
		}
		printAttempt(h.term, &rows[i], len(all.places) > 1, all.zone)
	}
	all.elsewhere.report(h.term, onlyInRegistry)
	h.term.noteUnread(all.unread)
	return nil
}

// noRun is the error for a run that was not found. A server or history that did not answer may have it.
func noRun(text, name string, all *found) error {
	code, hint := exitNotFound, ""
	if len(all.elsewhere.others) > 0 {
		hint = "; these servers have histories of their own: " + all.elsewhere.names() + ": --with"
	}
	if len(all.unread) > 0 {
		code, hint = exitUnreachable, hint+"; without an answer: "+strings.Join(all.unread, ", ")
	}
	return exitf(code, "there is no such run at %s: %s (see wasmjobd history list --job %s)%s", strings.Join(all.places, ", "), text, name, hint)
}

// printRun shows what the attempts of a run have in common.
func printRun(term *terminal, r *trace.Row, zone *time.Location) {
	term.printf("\nrun        %s\n", oneLine(r.Job+"/"+strconv.Itoa(r.Item)+"/"+r.Run))
	due := stamp(r.Instant, zone)
	if r.Count > 1 {
		due = fmt.Sprintf("%s to %s, %s", due, stamp(r.Last, zone), count(int(r.Count), "instant"))
	}
	term.printf("due        %s\n", due)
	if r.Schedule != "" {
		term.printf("schedule   %s\n", oneLine(r.Schedule))
	}
}

// printAttempt shows one attempt, with its texts as far as they are kept. With several histories it also
// names the one that has the row.
func printAttempt(term *terminal, r *foundRow, several bool, zone *time.Location) {
	head := string(r.State)
	if r.Attempt > 0 {
		head = fmt.Sprintf("attempt %d  %s", r.Attempt, r.State)
	}
	term.printf("\n%s\n", oneLine(head))
	line := func(name, value string) {
		if value != "" {
			term.printf("  %-9s%s\n", name, oneLine(value))
		}
	}
	line("cause", string(r.Cause))
	line("param", r.Param)
	line("reason", r.Reason.String())
	line("server", r.Instance)
	line("began", stamp(r.Start, zone))
	line("ended", stamp(r.End, zone))
	if took, ok := tookOf(r.Row); ok {
		line("took", took.String())
	}
	if r.HasCode {
		line("code", strconv.Itoa(int(r.Code)))
	}
	if r.Fence != 0 {
		line("token", strconv.FormatInt(r.Fence, 10))
	}
	line("module", r.Digest)
	line("metrics", r.Metrics)
	switch {
	case r.by != "":
		line("history", "in the registry, for the history of "+r.by+", which has error, result and log")
		return
	case several:
		line("history", r.in)
	}
	block(term, "result", r.Result)
	block(term, "error", r.Error)
	switch {
	case r.Log != "":
		block(term, "log", r.Log)
	case r.HasLog:
		line("log", "nothing was logged")
	case r.Start != 0:
		line("log", "not kept; see the log of that server")
	}
}

// oneLine makes a text a single line.
func oneLine(s string) string { return strings.ReplaceAll(s, "\n", " ") }

// block shows a text of several lines, indented.
func block(term *terminal, name, text string) {
	if text = strings.TrimRight(text, "\n"); text == "" {
		return
	}
	term.printf("  %s\n    %s\n", name, strings.ReplaceAll(text, "\n", "\n    "))
}
