package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/user"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/wasmjob/wasmjob/host/config"
	"github.com/wasmjob/wasmjob/host/operator"
)

// listedAudit is the JSON of audit list. Scripts read it: add fields, but do not change any.
type listedAudit struct {
	Version int                 `json:"version"`
	Rows    []operator.AuditRow `json:"rows"`
}

// auditRows is the default for --limit.
const auditRows = 100

// auditCommand has the verb about the audit.
func auditCommand(term *terminal) *cobra.Command {
	return operatorNoun(term, &cobra.Command{Use: "audit", Short: "Show who changed what"}, auditList)
}

func auditList(o *operatorVerb) *cobra.Command {
	f := operator.AuditFilter{}
	var since time.Duration
	c := &cobra.Command{
		Use: "list", Short: "Show who changed what, newest first", Args: cobra.NoArgs,
		Long: "Each write by an operator has a row, whether it came by a token, a server's socket or the\n" +
			"registry. The cluster keeps the newest 1,000. The history has what jobs did. Rows contain no\n" +
			"secrets. Requests that were refused, or had nothing to do, have no row.",
		Example: "  wasmjobd audit list --since 24h --job report",
	}
	c.Flags().StringVar(&f.Who, "who", "", "only this token or user")
	c.Flags().StringVar(&f.Verb, "verb", "", "only this `verb`, such as \"job pause\"; \"job\" selects all verbs about jobs")
	c.Flags().StringVar(&f.Job, "job", "", "only this job")
	c.Flags().DurationVar(&since, "since", 0, "only rows younger than this, by this machine's clock")
	c.Flags().IntVar(&f.Limit, "limit", auditRows, "number of rows, newest first; 0: all")
	c.RunE = func(c *cobra.Command, _ []string) error {
		if since < 0 || f.Limit < 0 {
			return usage("--since and --limit cannot be negative")
		}
		if since > 0 {
			f.Since = time.Now().Add(-since)
		}
		return o.ask(c.Context(), func(ctx context.Context, _ *config.File, op cluster) error {
			rows, err := op.Audit(ctx, f)
			if err != nil {
				return err
			}
			if o.term.json() {
				return o.term.printJSON(listedAudit{Version: 1, Rows: append([]operator.AuditRow{}, rows...)})
			}
			return printAudit(o.term, rows)
		})
	}
	return c
}

func printAudit(term *terminal, rows []operator.AuditRow) error {
	w := table(term, "AT\tWHO\tBY\tVERB\tJOB\tWHAT")
	for _, r := range rows {
		what := r.Detail
		if r.Before != "" || r.After != "" {
			what = strings.TrimSpace(what + " " + orDash(r.Before) + " -> " + orDash(r.After))
		}
		if r.Fault != "" { // why the row cannot be read
			what = "cannot be read: " + r.Fault
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", stamp(r.At.UnixMilli(), time.UTC), orDash(plain(r.Name)), orDash(plain(string(r.Way))),
			orDash(plain(r.Verb)), orDash(plain(r.Job)), orDash(plain(what)))
	}
	return flush(w)
}

// localUser returns who runs this program, for the audit, as USER@MACHINE.
func localUser() string {
	name := "user " + strconv.Itoa(os.Geteuid())
	if u, err := user.Current(); err == nil {
		name = cmp.Or(u.Username, name)
	}
	if machine, err := os.Hostname(); err == nil {
		name += "@" + machine
	}
	return name
}
