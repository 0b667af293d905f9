package main

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/config"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/operator"
	"github.com/wasmjob/wasmjob/host/reason"
)

func doctorCommand(term *terminal) *cobra.Command {
	o := &operatorVerb{term: term, readOnly: true}
	var look bool
	c := &cobra.Command{
		Use: "doctor --registry [JOB...]", Short: "Show what prevents a server from joining the jobs of a namespace",
		Long: "Doctor reads the jobs of the registry as a server with this configuration would find them, and\n" +
			"writes nothing there. It reads an embedded registry through its server; if that server is not\n" +
			"running, opening the registry rewrites its log and snapshot. For each job it shows to whom it\n" +
			"belongs, who runs it, what must be corrected before a server with this configuration can run it\n" +
			"too (breaks), what the configuration still lacks (needs), and what else to know (note). If\n" +
			"anything breaks, it exits with 5. For a job that is not named, not in the configuration and was\n" +
			"never run by a server of ours, all findings are only notes.\n\n" +
			"With --address the server there checks with its own configuration and history, and so do the other\n" +
			"servers that it knows; differing findings of theirs are shown as well. Without --address, doctor\n" +
			"also loads the modules of the configuration's jobs, as validate --modules does: a module that is\n" +
			"missing, is not the pinned one or does not fit its job breaks the job.",
		Example: "  wasmjobd doctor --registry\n  wasmjobd doctor --registry orders --config jobs.toml -o json",
	}
	o.files = configFlag(c)
	c.Flags().BoolVar(&look, "registry", false, "check the jobs of the registry; required without --address")
	c.Flags().DurationVar(&o.timeout, "timeout", defaultPatience, "how long to wait for the registry or the server")
	o.elsewhere.add(c)
	c.RunE = func(c *cobra.Command, names []string) error {
		at, err := o.elsewhere.server(term.env, *o.files)
		switch {
		case err != nil:
			return err
		case at.Address != "":
			return o.ask(c.Context(), func(ctx context.Context, _ *config.File, to cluster) error {
				d, err := to.Doctor(ctx, host.Options{}, names...)
				return showDiagnosis(ctx, term, to, d, err, names)
			})
		case !look:
			return usage("write what to check: --registry, or a server's --address")
		}
		return o.diagnose(c.Context(), names)
	}
	return c
}

// diagnose checks the registry, and the modules of the configuration's jobs.
func (o *operatorVerb) diagnose(ctx context.Context, names []string) error {
	var d *operator.Diagnosis
	var f *config.File
	var secrets map[string]string
	err := o.look(ctx, func(ctx context.Context, read *config.File, op *operator.Operator) error {
		as, err := visitorOptions(read, o.term.env)
		if err != nil {
			return err
		}
		op.Recall(ownHistory(o.term, read)) // Doctor compares the registry with it
		f, secrets = read, as.Secrets
		d, err = op.Doctor(ctx, as, names...)
		if err != nil && len(names) == 1 {
			err = withNearest(ctx, op, names[0], err)
		}
		return err
	})
	if err != nil {
		return err
	}
	// Compiling may take longer than the registry's timeout.
	return untilSignal(ctx, func(ctx context.Context) error {
		refused, err := unloadable(ctx, o.term, f, secrets, names)
		addModules(d, refused)
		// No cluster and no error: the registry has answered above.
		return errors.Join(showDiagnosis(ctx, o.term, nil, d, nil, names), err)
	})
}

// addModules adds to a diagnosis which jobs of a configuration have code that cannot be loaded.
func addModules(d *operator.Diagnosis, refused []host.JobFault) {
	for i := range d.Jobs {
		for _, fault := range refused {
			if fault.Job == d.Jobs[i].Job {
				d.Jobs[i].Breaks = append(d.Jobs[i].Breaks, reason.Of(reason.ModuleRefused, fault.Err.Error()))
			}
		}
	}
}

// visitorOptions returns the options that a server with a configuration would have, to examine whether it
// can join the jobs of the registry. No such server need be running.
func visitorOptions(f *config.File, env []string) (host.Options, error) {
	as := options(f, slog.New(slog.DiscardHandler), nil)
	secrets, err := f.Secrets(env)
	if err != nil {
		return as, exitf(exitInvalid, "secrets are not there:\n%w", err)
	}
	as.Secrets = secrets
	if ip, _, err := serverIP(f); err == nil { // serve reports a missing address
		as.Instance = job.NewInstanceID(ip, strconv.Itoa(os.Getpid()))
	}
	return as, nil
}

// showDiagnosis prints doctor's findings, and returns an error if anything breaks. If err says why doctor
// could not check, it returns that instead; for one unknown job, with a similar name of the cluster in.
func showDiagnosis(ctx context.Context, term *terminal, in cluster, d *operator.Diagnosis, err error, names []string) error {
	if err != nil {
		if len(names) == 1 {
			err = withNearest(ctx, in, names[0], err)
		}
		return err
	}
	if d.Absent != "" {
		term.note("%s", d.Absent) // the first server creates it
	}
	if term.json() {
		err = term.printJSON(examinedOf(d))
	} else {
		printDiagnosis(term, d)
		for _, other := range d.Others {
			term.printf("\nat %s otherwise\n", plain(other.Server))
			printDiagnosis(term, diagnosisAt(other))
		}
		term.noteUnread(d.Unread)
	}
	return errors.Join(err, verdict(d))
}

// verdict returns an error that says what must be corrected; nil if nothing breaks. Broken jobs come before
// the state of the cluster, and the findings of this server before those of others.
func verdict(d *operator.Diagnosis) error {
	var broken []string
	for i := range d.Jobs {
		if len(d.Jobs[i].Breaks) > 0 {
			broken = append(broken, plain(d.Jobs[i].Job))
		}
	}
	switch {
	case len(broken) > 0:
		return exitf(exitConflict, "%d of %s cannot be joined: %s", len(broken), count(len(d.Jobs), "job"), shorten(strings.Join(broken, ", ")))
	case len(d.Breaks) > 0:
		return exitf(exitConflict, "the state of the cluster must be corrected")
	}
	for _, other := range d.Others {
		if err := verdict(diagnosisAt(other)); err != nil {
			return exitf(exitConflict, "at %s: %w", plain(other.Server), err)
		}
	}
	return nil
}

// diagnosisAt returns the findings of another server in the form of a diagnosis of its own.
func diagnosisAt(d operator.DiagnosedElsewhere) *operator.Diagnosis {
	return &operator.Diagnosis{Breaks: d.Breaks, Jobs: d.Jobs}
}

// The JSON of doctor. Scripts read it: add fields, but do not change any.

type examined struct {
	Version int           `json:"version"`
	Jobs    []examinedJob `json:"jobs"`
	// Findings are the findings about the cluster.
	Findings []finding `json:"findings"`
	// Others are differing findings of other servers.
	Others []examinedElsewhere `json:"other_servers,omitempty"`
	Unread []string            `json:"unread,omitempty"`
}

type examinedElsewhere struct {
	Server   string        `json:"server"`
	Jobs     []examinedJob `json:"jobs"`
	Findings []finding     `json:"findings"`
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
	// Findings are all of these findings, with their codes.
	Findings []finding `json:"findings"`
}

type examinedMember struct {
	Instance string `json:"instance"`
	Kind     string `json:"kind"`
	Disabled bool   `json:"disabled"`
}

// examinedOf returns the JSON of a diagnosis.
func examinedOf(d *operator.Diagnosis) examined {
	out := examined{Version: 1, Jobs: []examinedJob{}, Findings: findingsOf("breaks", d.Breaks)}
	for i := range d.Jobs {
		c := &d.Jobs[i]
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
	for _, other := range d.Others {
		there := examinedOf(diagnosisAt(other))
		out.Others = append(out.Others, examinedElsewhere{other.Server, there.Jobs, there.Findings})
	}
	out.Unread = d.Unread
	return out
}

func layoutOf(c *operator.Checkup) string { return cmp.Or(c.Layout, "unknown") }

func printDiagnosis(term *terminal, d *operator.Diagnosis) {
	if len(d.Breaks) > 0 {
		term.printf("the state of the cluster\n")
	}
	for _, one := range d.Breaks {
		term.printf("  breaks   %s\n", shorten(one.WithHint()))
	}
	for i := range d.Jobs {
		c := &d.Jobs[i]
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
		// A server runs the jobs of its file, and those of the registry that a server of ours has run.
		if (c.Named || c.Ours) && len(c.Breaks) == 0 {
			term.printf("  fits     a server with this configuration can run it\n")
		}
	}
}
