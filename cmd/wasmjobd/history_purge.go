package main

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/admin"
	"github.com/wasmjob/wasmjob/host/config"
	"github.com/wasmjob/wasmjob/host/trace/sqltrace"
)

func historyPurge(h *historyVerb) *cobra.Command {
	var keep admin.Purge
	var age, size string
	var yes bool
	c := &cobra.Command{
		Use:   "purge",
		Short: "Delete old rows",
		Long: "Delete rows that are older than --older-than, all but the newest --per-job of each job, and the\n" +
			"oldest that do not fit --size. Without any of these, the retention in [history] applies. The\n" +
			"server may be running; with --address the server there makes all servers purge their histories or,\n" +
			"with --here, only its own.",
		RunE: func(c *cobra.Command, _ []string) error {
			if keep.Dry == yes { // neither or both
				return usage("write --dry-run to count the rows, or --yes to delete them")
			}
			if age != "" {
				var err error
				if keep.Age, err = parseAge(age); err != nil || keep.Age == 0 {
					return usage("--older-than %s: write an age such as 30d or 12h", age)
				}
			}
			if keep.PerJob < 0 || keep.PerJob == 0 && c.Flags().Changed("per-job") {
				return usage("--per-job is 1 or more")
			}
			if c.Flags().Changed("size") {
				var err error
				if keep.Bytes, err = parseBytes(size, 1<<50); err != nil {
					return usage("--size %s: %v", size, err)
				}
			}
			return h.doPurge(c.Context(), keep)
		},
	}
	c.Flags().StringVar(&keep.Job, "job", "", "only this job")
	c.Flags().StringVar(&age, "older-than", "", "delete rows older than this: 30d, 12h")
	c.Flags().IntVar(&keep.PerJob, "per-job", 0, "keep this number of rows of each job")
	c.Flags().StringVar(&size, "size", "", "keep the newest rows that fit into this size: 500MiB, 2GiB")
	c.Flags().BoolVar(&keep.Dry, "dry-run", false, "count the rows, but delete none")
	c.Flags().BoolVar(&yes, "yes", false, "confirm that the rows are to be deleted")
	c.Flags().BoolVar(&keep.Here, "here", false, "only the history of the server at --address")
	h.server.add(c)
	return c
}

// doPurge purges the histories of the servers that --address reaches, or else the configuration's own, and
// prints how many rows went.
func (h *historyVerb) doPurge(ctx context.Context, keep admin.Purge) error {
	var done admin.Purged
	asked, err := h.ask(ctx, func(ctx context.Context, c *admin.Client) (err error) {
		done, err = c.PurgeHistory(ctx, keep)
		return err
	})
	if err == nil && !asked {
		done.Rows, err = h.purgeOwn(ctx, keep)
	}
	if err != nil {
		if done.Rows > 0 {
			h.term.note("%d rows were deleted before:", done.Rows)
		}
		return err
	}
	if h.term.json() {
		return h.term.printJSON(purged{Version: 1, Purged: done, DryRun: keep.Dry})
	}
	if keep.Dry {
		h.term.printf("%d rows would be deleted\n", done.Rows)
	} else {
		h.term.printf("%d rows deleted\n", done.Rows)
	}
	for _, other := range done.Others {
		h.term.printf("  of them %d at %s\n", other.Rows, plain(other.Server))
	}
	h.term.noteUnread(done.Unread)
	return nil
}

// purgeOwn purges the configuration's own history, and returns the number of rows.
func (h *historyVerb) purgeOwn(ctx context.Context, keep admin.Purge) (rows int64, err error) {
	f, err := h.load()
	if err != nil {
		return 0, err
	}
	if keep.Dry { // a reader is enough, and changes no tables
		err = h.readAll(ctx, f, func(ctx context.Context, all []*sqltrace.Reader) error {
			of, err := retentionOf(f, keep)
			if err == nil {
				rows, err = all[0].Expired(ctx, of)
			}
			return coded(err)
		})
		return rows, err
	}
	if _, err := retentionOf(f, keep); err != nil { // before opening a history
		return 0, coded(err)
	}
	return rows, untilSignal(ctx, func(ctx context.Context) error {
		at, err := historyAt(h.term, f)
		if err != nil {
			return err
		}
		s, err := sqltrace.Open(ctx, at)
		if err != nil {
			return err
		}
		rows, err = purgeRows(ctx, s, f, keep)
		return errors.Join(err, s.Close())
	})
}

// purgeRows deletes the rows that a purge asks for or, in a dry run, counts them.
func purgeRows(ctx context.Context, s *sqltrace.Store, f *config.File, p admin.Purge) (int64, error) {
	keep, err := retentionOf(f, p)
	switch {
	case err != nil:
		return 0, err
	case p.Dry:
		return s.Expired(ctx, keep)
	}
	return s.Purge(ctx, keep)
}

// retentionOf returns the retention that a purge asks for, or else the configuration's.
func retentionOf(f *config.File, p admin.Purge) (sqltrace.Retention, error) {
	keep := sqltrace.Retention{Age: p.Age, PerJob: p.PerJob, Bytes: p.Bytes}
	if keep == (sqltrace.Retention{}) {
		keep = retention(f.History)
	}
	if keep == (sqltrace.Retention{}) {
		return keep, &host.Error{Code: host.Invalid, Msg: "there is no retention; write --older-than 30d, --per-job 1000 or --size 2GiB"}
	}
	keep.Job, keep.Now = p.Job, time.Now()
	return keep, nil
}
