package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"
	_ "github.com/jackc/pgx/v5/stdlib" // drivers of histories
	"github.com/spf13/cobra"
	_ "modernc.org/sqlite"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/admin"
	"github.com/wasmjob/wasmjob/host/config"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/trace/sqltrace"
)

// historyCommand has the verbs that read the history directly; they work with and without a
// server running on it.
func historyCommand(term *terminal) *cobra.Command {
	c := &cobra.Command{Use: "history", Short: "Show, check and purge the history of runs"}
	for _, verb := range []func(*historyVerb) *cobra.Command{historyList, historyShow, historyExport, historyCheck, historyPurge} {
		h := &historyVerb{term: term}
		child := verb(h)
		if child.Args == nil {
			child.Args = cobra.NoArgs
		}
		h.files = configFlag(child)
		c.AddCommand(child)
	}
	return c
}

// historyVerb is the common part of the verbs below history.
type historyVerb struct {
	term  *terminal
	files *[]string
	with  []string // histories of other servers
	// server has the flags that select a server whose history is used instead.
	server addressFlags
}

// withFlag adds the flag for the histories of other servers.
func (h *historyVerb) withFlag(c *cobra.Command) {
	c.Flags().StringArrayVar(&h.with, "with", nil, "history.db of another server of the cluster, or a copy that sqlite3 made of it by .backup; repeat the flag for each server")
}

// load reads the configuration and checks that its history exists.
func (h *historyVerb) load() (*config.File, error) {
	f, err := loadConfig(h.term, *h.files)
	if err != nil {
		return nil, err
	}
	if err := historyThere(f); err != nil {
		return nil, err
	}
	for _, path := range h.with {
		if _, err := os.Stat(path); err != nil {
			return nil, exitf(exitNotFound, "--with: there is no history at %s", path)
		}
	}
	return f, nil
}

// historyAt returns the location of a configuration's history.
func historyAt(term *terminal, f *config.File) (sqltrace.Location, error) {
	if f.History.Address == "" {
		return sqltrace.File(f.History.Path), nil
	}
	password, err := f.HistoryPassword(term.env)
	if err != nil {
		return sqltrace.Location{}, err
	}
	// The driver writes lines to standard error in addition to the errors that it returns.
	if err := mysql.SetLogger(new(mysql.NopLogger)); err != nil {
		return sqltrace.Location{}, fmt.Errorf("keep the driver quiet: %w", err)
	}
	if err := trustDatabase(f.History.Address); err != nil {
		return sqltrace.Location{}, err
	}
	at, err := sqltrace.Address(f.History.Address, password)
	at.ElasticJob = f.History.ElasticJob
	return at, err
}

// trustDatabase reads the certificate authority that an address names, and registers it with MySQL's
// driver. PostgreSQL's driver reads the file itself; here it is only checked.
func trustDatabase(address string) error {
	u, err := url.Parse(address)
	if err != nil {
		return errors.New("history: its address cannot be read") // the error would repeat the address
	}
	path := u.Query().Get("sslrootcert")
	if path == "" {
		return nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("history: read sslrootcert: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		return fmt.Errorf("history: sslrootcert %s has no certificate in PEM, which begins with -----BEGIN CERTIFICATE-----", path)
	}
	if u.Scheme != "mysql" {
		return nil
	}
	if err := mysql.RegisterTLSConfig(sqltrace.MySQLAuthority, &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}); err != nil {
		return fmt.Errorf("history: use sslrootcert: %w", err)
	}
	return nil
}

// historyThere checks that a history's file exists, since opening it would fail with a worse error. A
// history on a server is checked when it is opened.
func historyThere(f *config.File) error {
	if f.History.Address != "" {
		return nil
	}
	if _, err := os.Stat(f.History.Path); errors.Is(err, fs.ErrNotExist) {
		return exitf(exitNotFound, "there is no history at %s; serve creates it (or is this another server's configuration?)", f.History.Path)
	}
	return nil
}

// readAll calls do with the histories of a configuration, first, and of --with. All must be readable. A
// signal cancels the context of do.
func (h *historyVerb) readAll(ctx context.Context, f *config.File, do func(context.Context, []*sqltrace.Reader) error) error {
	return h.readMost(ctx, f, func(ctx context.Context, all []*sqltrace.Reader, away error) error {
		if away != nil {
			return away
		}
		return do(ctx, all)
	})
}

// databasePatience bounds the wait for the database of a history where others can be read.
const databasePatience = 10 * time.Second

// readMost is readAll, but if the configuration's own history is on a server and cannot be opened, it
// calls do with that error and the histories of --with, if there are any.
func (h *historyVerb) readMost(ctx context.Context, f *config.File, do func(ctx context.Context, all []*sqltrace.Reader, away error) error) error {
	own, err := historyAt(h.term, f)
	if err != nil {
		return err
	}
	return untilSignal(ctx, func(ctx context.Context) (err error) {
		var all []*sqltrace.Reader
		defer func() {
			for _, r := range all {
				err = errors.Join(err, r.Close())
			}
		}()
		within, cancel := ctx, context.CancelFunc(func() {})
		if f.History.Address != "" && len(h.with) > 0 { // there are others to read
			within, cancel = context.WithTimeout(ctx, databasePatience)
		}
		first, away := sqltrace.OpenReader(within, own)
		cancel()
		switch {
		case away == nil:
			all = append(all, first)
		case f.History.Address == "" || len(h.with) == 0 || ctx.Err() != nil: // the last: a signal
			return away
		}
		for _, path := range h.with {
			r, err := sqltrace.OpenReader(ctx, sqltrace.File(path))
			if err != nil {
				return err
			}
			all = append(all, r)
		}
		return do(ctx, all, away)
	})
}

func historyCheck(h *historyVerb) *cobra.Command {
	var name, from, to string
	c := &cobra.Command{
		Use:   "check",
		Short: "Check that every scheduled instant is accounted for",
		Long: "Compare the schedules of the configuration with the rows of the history: every instant of every\n" +
			"item must have exactly one run or lie in exactly one gap.\n\n" +
			"Without --from and --to an item is checked between its first and its last row; with them, up to\n" +
			"these times, whether or not there are rows. A run has no row before it ends, so choose a --to at\n" +
			"which no run was going on. Each row is compared with its own cron. Rows from before a change of\n" +
			"time zone or dialect, and rows of releases that did not record the cron, disagree with the present\n" +
			"schedule. With --from, every present item is expected from that time on. If that finds too much,\n" +
			"choose a later --from. Schedules and the number of items are those of the registry, as far as the\n" +
			"configuration does not change them. The exit code is 5 if there are findings.\n\n" +
			"In a cluster each server has the rows of what it ran; name the histories of the others with\n" +
			"--with, or use --address for a server, which asks the others. Runs of a server that does not\n" +
			"answer count as missing.",
		RunE: func(c *cobra.Command, _ []string) error {
			now, want := time.Now(), admin.CheckWanted{Job: name}
			begin, end := int64(math.MinInt64), now.UnixMilli()
			var err error
			if from != "" {
				if begin, err = parseMoment("from", from, now); err != nil {
					return err
				}
				want.From = &begin
			}
			if to != "" {
				if end, err = parseMoment("to", to, now); err != nil {
					return err
				}
				want.To = &end
			}
			if begin >= end {
				return usage("--from must be before --to")
			}
			return h.printCheck(c.Context(), want)
		},
	}
	c.Flags().StringVar(&name, "job", "", "only this job")
	c.Flags().StringVar(&from, "from", "", "check every instant after this time (RFC 3339, or an age such as 24h)")
	c.Flags().StringVar(&to, "to", "", "check every instant up to this time")
	h.server.add(c)
	h.withFlag(c)
	return c
}

// checkWindow is the time (from, to]; begin and end are true if the operator set that bound.
// The check ends when used reports that its share of instants is exhausted.
type checkWindow struct {
	from, to   int64
	begin, end bool
	left       int64
	used       func()
}

// printCheck checks the history at --address, or the histories of the configuration and --with, and prints
// what it finds. Findings give the exit code 5.
func (h *historyVerb) printCheck(ctx context.Context, want admin.CheckWanted) error {
	var all []admin.Checked
	var rest elsewhere
	var unread []string
	asked, err := h.ask(ctx, func(ctx context.Context, c *admin.Client) (err error) {
		all, unread, err = c.CheckHistory(ctx, want)
		return err
	})
	if err != nil {
		return err
	}
	if !asked {
		f, err := h.load()
		if err != nil {
			return err
		}
		if err := h.readAll(ctx, f, func(ctx context.Context, in []*sqltrace.Reader) (err error) {
			// It also sets rest, the servers whose histories are missing.
			inForce := func(ctx context.Context, as host.Options) (jobs []job.Config) {
				jobs, rest = h.inForce(ctx, f, want.Job, as)
				return jobs
			}
			all, err = checkJobs(ctx, histories{in: in, inForce: inForce}, f, want, math.MaxInt64) // Ctrl-C ends it
			return coded(err)
		}); err != nil {
			return err
		}
	}
	found, err := printChecked(h.term, all)
	rest.report(h.term, "what these servers ran was not checked")
	h.term.noteUnread(unread)
	if err == nil && found > 0 {
		err = &exitError{code: exitConflict}
	}
	return err
}

// ask runs a verb on the server that --address or --context selects. asked is false, and nothing was done,
// if no server was selected: then the verb reads the histories itself.
func (h *historyVerb) ask(ctx context.Context, verb func(context.Context, *admin.Client) error) (asked bool, err error) {
	at, err := h.server.server(h.term.env, *h.files)
	switch {
	case err != nil || at.Address == "":
		return false, err
	case len(h.with) > 0:
		return true, usage("--with and --address: name either files or a server")
	}
	return true, untilSignal(ctx, func(ctx context.Context) error {
		c, err := dial(at)
		if err != nil {
			return coded(err)
		}
		return coded(errors.Join(verb(ctx, c), c.Close()))
	})
}

// parseMoment reads the value s of a flag: a time, "now", or a duration before now. It returns Unix
// milliseconds; 0 for "".
func parseMoment(flag, s string, now time.Time) (int64, error) {
	if s == "" {
		return 0, nil
	}
	if s == "now" {
		return now.UnixMilli(), nil
	}
	if age, err := parseAge(s); err == nil {
		return now.Add(-age).UnixMilli(), nil
	}
	t, err := time.Parse(time.RFC3339, s)
	if err != nil {
		return 0, usage("--%s %s: write a time with its offset, like 2026-01-31T12:00:00Z, or how long ago, like 90m or 30d", flag, s)
	}
	return t.UnixMilli(), nil
}

// parseAge reads a non-negative duration, which may be in days.
func parseAge(s string) (time.Duration, error) {
	if days, ok := strings.CutSuffix(s, "d"); ok {
		n, err := strconv.ParseUint(days, 10, 16)
		if err != nil {
			return 0, fmt.Errorf("%q is not a number of days", days)
		}
		return time.Duration(n) * 24 * time.Hour, nil
	}
	d, err := time.ParseDuration(s)
	if err == nil && d < 0 {
		err = errors.New("negative")
	}
	return d, err
}
