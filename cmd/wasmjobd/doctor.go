package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/config"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/operator"
	"github.com/wasmjob/wasmjob/host/reason"
	"github.com/wasmjob/wasmjob/host/trace/sqltrace"
)

func doctorCommand(term *terminal) *cobra.Command {
	o := &operatorVerb{term: term, readOnly: true}
	var look bool
	c := &cobra.Command{
		Use: "doctor --registry [JOB...]", Short: "Tell what keeps a server from joining the jobs of a namespace",
		Long: "Doctor reads the jobs of the registry as a server with this configuration would find them,\n" +
			"and writes nothing there. An embedded registry is looked at through its server; while that\n" +
			"does not run, opening the registry writes log and snapshot anew. For each job it tells whose it\n" +
			"is, who runs it, what has to be mended before such a server can run it, too (breaks), what the\n" +
			"configuration has yet to say (needs), and what else to know. If anything breaks, it exits with 5.\n" +
			"Of jobs that are neither named, nor in the configuration, nor ever run by a server of ours, all\n" +
			"that is only noted.",
		Example: "  wasmjobd doctor --registry\n  wasmjobd doctor --registry orders --config jobs.toml -o json",
	}
	o.files = configFlag(c)
	c.Flags().BoolVar(&look, "registry", false, "look at the registry")
	c.Flags().DurationVar(&o.timeout, "timeout", defaultPatience, "how long to wait for the registry")
	c.RunE = func(c *cobra.Command, names []string) error {
		if !look {
			return usage("say what to look at: --registry")
		}
		return o.look(c.Context(), func(ctx context.Context, f *config.File, op *operator.Operator) error {
			return examine(ctx, term, f, op, names)
		})
	}
	return c
}

// examine looks at jobs, and prints what there is to say.
func examine(ctx context.Context, term *terminal, f *config.File, op *operator.Operator, names []string) error {
	as := options(f, slog.New(slog.DiscardHandler), nil)
	secrets, err := f.Secrets(term.env)
	if err != nil {
		return exitf(exitInvalid, "secrets are not there:\n%w", err)
	}
	as.Secrets = secrets
	if ip, _, err := serverIP(f); err == nil { // serve says if there is none
		as.Instance = job.NewInstanceID(ip, strconv.Itoa(os.Getpid()))
	}
	all, err := op.Checkups(ctx, as, names...)
	if err != nil {
		return err
	}
	there := op.Namespace(ctx)
	for _, name := range names {
		if !slices.ContainsFunc(all, func(c operator.Checkup) bool { return c.Job == name }) {
			if there != nil {
				return there
			}
			return withNearest(ctx, op, name, &host.Error{Code: host.NotFound, Msg: fmt.Sprintf("there is no job %q in namespace %s", name, f.Registry.Namespace)})
		}
	}
	if len(names) == 0 {
		leaveOthers(all)
	}
	if there != nil {
		term.note("%v", there) // a first server makes it
	}
	if err := compareTokens(ctx, term, f, all); err != nil {
		return err
	}
	if term.json() {
		err = term.printJSON(examinedOf(all))
	} else {
		printCheckups(term, all)
	}
	return errors.Join(err, verdict(all))
}

// leaveOthers turns what breaks a job into a note, for jobs that no server of ours
// is meant to run: they may share the namespace.
func leaveOthers(all []operator.Checkup) {
	for i := range all {
		if c := &all[i]; !c.Named && !c.Ours {
			c.Notes, c.Breaks = append(c.Breaks, c.Notes...), nil
		}
	}
}

// verdict is an error that names the jobs that a server cannot join.
func verdict(all []operator.Checkup) error {
	var broken []string
	for i := range all {
		if len(all[i].Breaks) > 0 {
			broken = append(broken, plain(all[i].Job))
		}
	}
	if len(broken) == 0 {
		return nil
	}
	return exitf(exitConflict, "%d of %s cannot be joined as it is: %s", len(broken), count(len(all), "job"), shorten(strings.Join(broken, ", ")))
}

// compareTokens finds jobs whose tokens would go backwards: this server has rows
// with later tokens than the registry has reached.
func compareTokens(ctx context.Context, term *terminal, f *config.File, all []operator.Checkup) error {
	if absent := historyThere(f); absent != nil {
		return nil //nolint:nilerr // it has never run
	}
	at, err := historyAt(term, f)
	if err != nil {
		return err
	}
	r, err := sqltrace.OpenReader(ctx, at)
	if err != nil {
		return fmt.Errorf("compare with the history: %w", err)
	}
	for i := range all {
		c := &all[i]
		page, err := r.Query(ctx, sqltrace.Filter{Job: c.Job})
		if err != nil {
			return errors.Join(fmt.Errorf("compare with the history: %w", err), r.Close())
		}
		newest := int64(0)
		for _, row := range page.Rows {
			newest = max(newest, row.Fence)
		}
		if newest > c.Newest && c.Newest >= 0 {
			c.Notes = append(c.Notes, reason.Of(reason.TokensBackwards, strconv.FormatInt(newest, 10), strconv.FormatInt(c.Newest, 10)))
		}
	}
	return r.Close()
}

// The JSON of doctor. Scripts read it: add fields, change none.

type examined struct {
	Version int           `json:"version"`
	Jobs    []examinedJob `json:"jobs"`
}

type examinedJob struct {
	Job     string           `json:"job"`
	Layout  string           `json:"layout"` // "unknown" if no node shows it
	Class   string           `json:"class,omitempty"`
	Type    string           `json:"type,omitempty"`
	Leader  string           `json:"leader,omitempty"`
	Members []examinedMember `json:"members"`
	Named   bool             `json:"in_configuration"`
	Breaks  []string         `json:"breaks"`
	Needs   []string         `json:"needs"`
	Notes   []string         `json:"notes"`
	// Findings are all three, with their codes.
	Findings []finding `json:"findings"`
}

type examinedMember struct {
	Instance string `json:"instance"`
	Kind     string `json:"kind"`
	Disabled bool   `json:"disabled"`
}

func examinedOf(all []operator.Checkup) examined {
	out := examined{Version: 1, Jobs: []examinedJob{}}
	for i := range all {
		c := &all[i]
		j := examinedJob{
			Job: c.Job, Layout: layoutOf(c), Class: c.Class, Type: c.Type, Leader: string(c.Leader), Members: []examinedMember{}, Named: c.Named,
			Breaks: textsOf(c.Breaks), Needs: textsOf(c.Needs), Notes: textsOf(c.Notes),
			Findings: append(append(findingsOf("breaks", c.Breaks), findingsOf("needs", c.Needs)...), findingsOf("note", c.Notes)...),
		}
		for _, m := range c.Members {
			j.Members = append(j.Members, examinedMember{string(m.ID), string(m.Kind), m.Disabled})
		}
		out.Jobs = append(out.Jobs, j)
	}
	return out
}

func layoutOf(c *operator.Checkup) string { return cmp.Or(c.Layout, "unknown") }

func printCheckups(term *terminal, all []operator.Checkup) {
	for i := range all {
		c := &all[i]
		term.printf("%s: layout %s", plain(c.Job), layoutOf(c))
		for _, word := range []string{c.Type, c.Class} {
			if word != "" {
				term.printf(", %s", plain(word))
			}
		}
		term.printf("\n")
		if len(c.Members) == 0 {
			term.printf("  members  none\n")
		}
		for _, m := range c.Members {
			term.printf("  member   %s, %s", plain(string(m.ID)), m.Kind)
			if m.ID == c.Leader {
				term.printf(", leads")
			}
			if m.Disabled {
				term.printf(", disabled")
			}
			term.printf("\n")
		}
		for _, list := range []struct {
			word  string
			lines []reason.Reason
		}{{"breaks ", c.Breaks}, {"needs  ", c.Needs}, {"note   ", c.Notes}} {
			for _, line := range list.lines {
				term.printf("  %s  %s\n", list.word, shorten(line.WithHint()))
			}
		}
		if (c.Named || c.Ours) && len(c.Breaks) == 0 {
			term.printf("  fits     a server with this configuration can run it\n")
		}
	}
}
