package main

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/wasmjob/wasmjob/host/config"
	"github.com/wasmjob/wasmjob/host/trace"
	"github.com/wasmjob/wasmjob/host/trace/sqltrace"
)

// filterFlags select rows.
type filterFlags struct {
	filter                     sqltrace.Filter
	item                       int
	state, cause, since, until string
}

func (f *filterFlags) add(c *cobra.Command) {
	c.Flags().StringVar(&f.filter.Job, "job", "", "only this job")
	c.Flags().IntVar(&f.item, "item", 0, "only this item")
	c.Flags().StringVar(&f.state, "state", "", "only this state: succeeded, failed, timed_out, cancelled, skipped, missed, …")
	c.Flags().StringVar(&f.cause, "cause", "", "only this cause: schedule, misfire, failover, trigger, catch_up, retry, backfill, after")
	c.Flags().StringVar(&f.since, "since", "", "only runs due at this time or later")
	c.Flags().StringVar(&f.until, "until", "", "only runs due before this time")
}

// read checks the flags of a command line.
func (f *filterFlags) read(c *cobra.Command) (out sqltrace.Filter, err error) {
	out = f.filter
	if out.Since, err = parseMoment("since", f.since, time.Now()); err != nil {
		return out, err
	}
	if out.Until, err = parseMoment("until", f.until, time.Now()); err != nil {
		return out, err
	}
	if f.until != "" && out.Until <= 0 { // it would stand for no bound
		return out, usage("--until %s: no run is of a time before 1970", f.until)
	}
	if c.Flags().Changed("item") {
		out.Item = &f.item
	}
	out.State, out.Cause = trace.State(f.state), trace.Cause(f.cause)
	return out, errors.Join(oneOf("state", out.State, trace.States()), oneOf("cause", out.Cause, trace.Causes()))
}

func historyList(h *historyVerb) *cobra.Command {
	var flags filterFlags
	var limit int
	var cursor, zone string
	c := &cobra.Command{
		Use:   "list",
		Short: "Show runs, newest first",
		Long: "Show runs, newest first. Times are RFC 3339 (2026-01-31T12:00:00Z) or how long ago (90m, 30d), and\n" +
			"refer to when a run was due. All times of a table are in one time zone, which its heading names:\n" +
			"--tz, or the zone of --job, or the zone that all jobs of the configuration have, or UTC.\n\n" +
			"In a cluster each server has the rows of what it ran; name the histories of the others with\n" +
			"--with. For servers that are not named, only the newest rows are shown, as far as the registry\n" +
			"still has them, without texts, and the servers are listed.\n\n" +
			"With --address a server is asked, which asks the others. Servers that did not answer are listed.",
		RunE: func(c *cobra.Command, _ []string) error {
			f, err := flags.read(c)
			if err != nil {
				return err
			}
			if limit < 1 || limit > sqltrace.MaxLimit {
				return usage("--limit is 1 to %d", sqltrace.MaxLimit)
			}
			f.Limit, f.Cursor = limit, cursor
			return h.printList(c.Context(), f, zone)
		},
	}
	flags.add(c)
	c.Flags().IntVar(&limit, "limit", sqltrace.DefaultLimit, "number of rows")
	c.Flags().StringVar(&cursor, "cursor", "", "continue after a page")
	h.withFlag(c)
	h.server.add(c)
	zoneFlag(c, &zone)
	return c
}

// oneOf refuses a state or cause that no row can have. A search for it would find nothing, as if nothing
// had happened.
func oneOf[T ~string](flag string, word T, known []T) error {
	if word == "" || slices.Contains(known, word) {
		return nil
	}
	names := make([]string, len(known))
	for i, k := range known {
		names[i] = string(k)
	}
	return usage("--%s %q: write one of %s", flag, word, strings.Join(names, ", "))
}

// printList shows a page of rows. tz is --tz.
func (h *historyVerb) printList(ctx context.Context, filter sqltrace.Filter, tz string) error {
	return h.find(ctx, filter, tz, func(all *found) error {
		if h.term.json() {
			out := listedPage(all.foundPage)
			out.Others, out.Unread = all.elsewhere.others, all.unread
			return h.term.printJSON(out)
		}
		printRows(h.term, all.rows, all.zone)
		if all.next != "" {
			h.term.note("there are more: --cursor %s", all.next)
		}
		all.elsewhere.report(h.term, onlyInRegistry)
		h.term.noteUnread(all.unread)
		return nil
	})
}

// knownJob returns an error if a job is neither in the configuration nor in any row of the histories: a
// search for a misspelled job would find nothing, as if nothing had happened.
func knownJob(ctx context.Context, all []*sqltrace.Reader, f *config.File, name string) error {
	noPlaces := make([]string, len(all)) // they are not shown
	page, err := findRows(ctx, all, noPlaces, nil, sqltrace.Filter{Job: name, Limit: 1})
	if err != nil || len(page.rows) > 0 {
		return err
	}
	names := jobNames(f)
	if slices.Contains(names, name) {
		return nil
	}
	return exitf(exitNotFound, "no row belongs to a job %q, and the configuration does not have it%s", name, andAsk(name, names))
}
