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
		Use: "doctor --registry [JOB...]", Short: "Tell what keeps a server from joining the jobs of a namespace",
		Long: "Doctor reads the jobs of the registry as a server with this configuration would find them, and\n" +
			"writes nothing there. It reads an embedded registry through its server; while that server does not\n" +
			"run, opening the registry writes log and snapshot anew. For each job it shows whose it is, who\n" +
			"runs it, what has to be mended before a server with this configuration can run it, too (breaks),\n" +
			"what the configuration has yet to say (needs), and what else to know. If anything breaks, it exits\n" +
			"with 5. Of a job that is not named, not in the configuration and was never run by a server of\n" +
			"ours, all findings are only notes.\n\n" +
			"With --address the server there looks, with its own configuration and history, and so do the other\n" +
			"servers that it knows; what they find differently is shown as well. Without --address doctor also\n" +
			"loads what the jobs of the configuration run, as validate --modules does: a module that is\n" +
			"missing, is not the pinned one or does not fit its job breaks the job.",
		Example: "  wasmjobd doctor --registry\n  wasmjobd doctor --registry orders --config jobs.toml -o json",
	}
	o.files = configFlag(c)
	c.Flags().BoolVar(&look, "registry", false, "look at the registry")
	c.Flags().DurationVar(&o.timeout, "timeout", defaultPatience, "how long to wait for the registry")
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
			return usage("say what to look at: --registry, or the server at an --address")
		}
		return o.diagnose(c.Context(), names)
	}
	return c
}

// diagnose looks at the registry, and at what the jobs of the configuration run.
func (o *operatorVerb) diagnose(ctx context.Context, names []string) error {
	var d *operator.Diagnosis
	var f *config.File
	var secrets map[string]string
	err := o.look(ctx, func(ctx context.Context, read *config.File, op *operator.Operator) error {
		as, err := visitorOptions(read, o.term.env)
		if err != nil {
			return err
		}
		op.Recall(ownHistory(o.term, read))
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
	// Compiling may take longer than a registry.
	return untilSignal(ctx, func(ctx context.Context) error {
		refused, err := unloadable(ctx, o.term, f, secrets, names)
		addModules(d, refused)
		return errors.Join(showDiagnosis(ctx, o.term, nil, d, nil, names), err)
	})
}

// addModules adds to a diagnosis which jobs of a configuration run what cannot be loaded.
func addModules(d *operator.Diagnosis, refused map[string]reason.Reason) {
	for i := range d.Jobs {
		if why, ok := refused[d.Jobs[i].Job]; ok {
			d.Jobs[i].Breaks = append(d.Jobs[i].Breaks, why)
		}
	}
}

// visitorOptions are those of a server that does not run yet, and is to be examined.
func visitorOptions(f *config.File, env []string) (host.Options, error) {
	as := options(f, slog.New(slog.DiscardHandler), nil)
	secrets, err := f.Secrets(env)
	if err != nil {
		return as, exitf(exitInvalid, "secrets are not there:\n%w", err)
	}
	as.Secrets = secrets
	if ip, _, err := serverIP(f); err == nil { // serve says if there is none
		as.Instance = job.NewInstanceID(ip, strconv.Itoa(os.Getpid()))
	}
	return as, nil
}

// showDiagnosis prints what doctor has found, or why it could not look.
func showDiagnosis(ctx context.Context, term *terminal, in cluster, d *operator.Diagnosis, err error, names []string) error {
	if err != nil {
		if len(names) == 1 {
			err = withNearest(ctx, in, names[0], err)
		}
		return err
	}
	if d.Absent != "" {
		term.note("%s", d.Absent) // a first server makes it
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

// verdict is an error that says what has to be mended.
func verdict(d *operator.Diagnosis) error {
	var broken []string
	for i := range d.Jobs {
		if len(d.Jobs[i].Breaks) > 0 {
			broken = append(broken, plain(d.Jobs[i].Job))
		}
	}
	switch {
	case len(broken) > 0:
		return exitf(exitConflict, "%d of %s cannot be joined as it is: %s", len(broken), count(len(d.Jobs), "job"), shorten(strings.Join(broken, ", ")))
	case len(d.Breaks) > 0:
		return exitf(exitConflict, "the state of the cluster has to be mended")
	}
	for _, other := range d.Others {
		if err := verdict(diagnosisAt(other)); err != nil {
			return exitf(exitConflict, "at %s: %w", plain(other.Server), err)
		}
	}
	return nil
}

// diagnosisAt is what another server finds.
func diagnosisAt(d operator.DiagnosedElsewhere) *operator.Diagnosis {
	return &operator.Diagnosis{Breaks: d.Breaks, Jobs: d.Jobs}
}

// The JSON of doctor. Scripts read it: add fields, change none.

type examined struct {
	Version int           `json:"version"`
	Jobs    []examinedJob `json:"jobs"`
	// Findings are those of the cluster.
	Findings []finding `json:"findings"`
	// Others is what other servers find otherwise.
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
	// Findings are all three, with their codes.
	Findings []finding `json:"findings"`
}

type examinedMember struct {
	Instance string `json:"instance"`
	Kind     string `json:"kind"`
	Disabled bool   `json:"disabled"`
}

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
		term.printf("  breaks   %s\n", plain(one.String()))
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
		if (c.Named || c.Ours) && len(c.Breaks) == 0 {
			term.printf("  fits     a server with this configuration can run it\n")
		}
	}
}
