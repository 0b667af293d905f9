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

// listedAudit is the JSON of audit list. Scripts read it: add fields, change none.
type listedAudit struct {
	Version int                 `json:"version"`
	Rows    []operator.AuditRow `json:"rows"`
}

// auditRows is how many rows audit list shows unless --limit says otherwise.
const auditRows = 100

// auditCommand holds the verb of the audit.
func auditCommand(term *terminal) *cobra.Command {
	return operatorNoun(term, &cobra.Command{Use: "audit", Short: "See who has changed what"}, auditList)
}

func auditList(o *operatorVerb) *cobra.Command {
	f := operator.AuditFilter{}
	var since time.Duration
	c := &cobra.Command{
		Use: "list", Short: "Show who has changed what, the newest first", Args: cobra.NoArgs,
		Long: "Each write of an operator has a row, whichever way it came: by a token, by a server's socket or\n" +
			"by the registry. The cluster keeps the newest 1,000. What jobs did is in the history. A row has no\n" +
			"secret, and no request that was refused or found nothing to do has one.",
		Example: "  wasmjobd audit list --since 24h --job report",
	}
	c.Flags().StringVar(&f.Who, "who", "", "only of this token or user")
	c.Flags().StringVar(&f.Verb, "verb", "", "only this `verb`, as in \"job pause\"; \"job\" is all of jobs")
	c.Flags().StringVar(&f.Job, "job", "", "only of this job")
	c.Flags().DurationVar(&since, "since", 0, "only what happened within this time, by this machine's clock")
	c.Flags().IntVar(&f.Limit, "limit", auditRows, "at most so many rows, the newest; 0: all")
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
		if r.Fault != "" {
			what = "cannot be read: " + r.Fault
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", stamp(r.At.UnixMilli(), time.UTC), orDash(plain(r.Name)), orDash(plain(string(r.Way))),
			orDash(plain(r.Verb)), orDash(plain(r.Job)), orDash(plain(what)))
	}
	return flush(w)
}

// localUser is who runs this program, for the audit.
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
