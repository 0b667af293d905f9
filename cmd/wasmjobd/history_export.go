package main

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/wasmjob/wasmjob/host/admin"
	"github.com/wasmjob/wasmjob/host/trace/sqltrace"
)

// exportPage is the number of rows in memory at a time: with all their texts, some megabytes.
const exportPage = 100

func historyExport(h *historyVerb) *cobra.Command {
	var flags filterFlags
	var format string
	c := &cobra.Command{
		Use:   "export",
		Short: "Export rows as CSV or JSON lines",
		Long: "Write rows with all their fields, newest first. --format jsonl writes the objects of \"history\n" +
			"list -o json\", one per line; --format csv writes the same below a line of names. Rows that are\n" +
			"added to the history meanwhile shift nothing. Characters that control a terminal are escaped, in\n" +
			"CSV as in \"history show\". In CSV, ' precedes a text that begins with = + - @, a tab or an end of\n" +
			"line, so that no spreadsheet takes a guest's text for a formula.\n\n" +
			"In a cluster each server has the rows of what it ran; name the histories of the others with\n" +
			"--with, or use --address for a server that asks them.",
		Example: "  wasmjobd history export --format csv --since 30d >runs.csv",
		RunE: func(c *cobra.Command, _ []string) error {
			f, err := flags.read(c)
			if err != nil {
				return err
			}
			switch format {
			case "jsonl":
				e := json.NewEncoder(jsonWriter{h.term.out})
				e.SetEscapeHTML(false)
				return h.export(c.Context(), f, func(r listedRow) error { return e.Encode(r) })
			case "csv":
				w := csv.NewWriter(h.term.out)
				if err := w.Write(csvNames()); err != nil {
					return fmt.Errorf("write CSV: %w", err)
				}
				err := h.export(c.Context(), f, func(r listedRow) error { return w.Write(csvValues(&r)) })
				w.Flush() // its error is in the dataWriter below h.term.out
				return err
			}
			return usage("--format %q: write csv or jsonl", format)
		},
	}
	flags.add(c)
	c.Flags().StringVar(&format, "format", "jsonl", "csv or jsonl")
	h.withFlag(c)
	h.server.add(c)
	return c
}

// export calls write with each row of the history at --address, or of the configuration's and those of
// --with.
func (h *historyVerb) export(ctx context.Context, filter sqltrace.Filter, write func(listedRow) error) error {
	asked, err := h.ask(ctx, func(ctx context.Context, c *admin.Client) error { return exportFrom(ctx, h.term, c, filter, write) })
	if asked || err != nil {
		return err
	}
	f, err := h.load()
	if err != nil {
		return err
	}
	filter.Limit, filter.Logs = exportPage, true
	rest := h.elsewhere(ctx, f, filter.Job)
	rest.report(h.term, "what these servers ran is not exported")
	return h.readAll(ctx, f, func(ctx context.Context, all []*sqltrace.Reader) error {
		for {
			noPlaces := make([]string, len(all)) // they are not exported
			page, err := findRows(ctx, all, noPlaces, nil, filter)
			if err != nil {
				return err
			}
			for i := range page.rows {
				if err := write(rowOf(&page.rows[i])); err != nil {
					return fmt.Errorf("write a row: %w", err)
				}
			}
			if page.next == "" {
				return nil
			}
			filter.Cursor = page.next
		}
	})
}

// exportFrom calls write with each row that a server returns, page after page. The server asks the
// others; those that did not answer for some page are listed at the end.
func exportFrom(ctx context.Context, term *terminal, c *admin.Client, filter sqltrace.Filter, write func(listedRow) error) error {
	unread := map[string]bool{}
	want := admin.RunsWanted{Job: filter.Job, Item: filter.Item, State: filter.State, Cause: filter.Cause, Since: filter.Since, Until: filter.Until, Limit: exportPage, Logs: true}
	for {
		page, err := c.Runs(ctx, want)
		if err != nil {
			return err
		}
		for _, server := range page.Unread {
			unread[server] = true
		}
		for i := range page.Rows {
			if err := write(rowOf(&foundRow{Row: page.Rows[i]})); err != nil {
				return fmt.Errorf("write a row: %w", err)
			}
		}
		if page.Next == "" {
			term.noteUnread(slices.Sorted(maps.Keys(unread)))
			return nil
		}
		want.Cursor = page.Next
	}
}

// csvNames are the columns of CSV, in the order of csvValues.
func csvNames() []string {
	return []string{
		"job", "item", "run", "attempt", "instant", "last", "count", "cause", "state", "reason", "reason_code", "instance", "task_id",
		"start", "end", "duration_ms", "result", "error", "code", "digest", "fence", "fuel", "elements_succeeded", "elements_failed", "metrics", "log", "param",
		"schedule",
	}
}

func csvValues(r *listedRow) []string {
	code, log := "", ""
	if r.Code != nil {
		code = strconv.Itoa(int(*r.Code))
	}
	if r.Log != nil {
		log = *r.Log
	}
	number := func(n int64) string { return strconv.FormatInt(n, 10) }
	out := []string{
		r.Job, strconv.Itoa(r.Item), r.Run, strconv.Itoa(r.Attempt), r.Instant, r.Last, number(r.Count), string(r.Cause), string(r.State), r.Reason,
		string(r.ReasonCode), r.Instance, r.TaskID, r.Start, r.End, number(r.TookMs), r.Result, r.Error, code, r.Digest, number(r.Fence),
		number(r.Fuel), number(r.Succeeded), number(r.Failed), string(r.Metrics), log, r.Param,
		r.Schedule,
	}
	for i := range out {
		out[i] = noFormula(visibleText(out[i]))
	}
	return out
}

// noFormula returns a text that a spreadsheet does not take for a formula, since guests choose
// the text. Numbers are returned unchanged.
func noFormula(s string) string {
	_, err := strconv.ParseInt(s, 10, 64)
	if s == "" || err == nil || !strings.ContainsRune("=+-@\t\n", rune(s[0])) {
		return s
	}
	return "'" + s
}
