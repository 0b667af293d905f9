package main

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/wasmjob/wasmjob/host/config"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/reason"
	"github.com/wasmjob/wasmjob/internal/nearest"
)

// maxFires bounds --count.
const maxFires = 10_000

// nextFlags are the flags of "next".
type nextFlags struct {
	config  *[]string
	count   int
	zone    string
	from    string
	dialect string
}

// fire is one line of "next".
type fire struct {
	Time   string `json:"time"`
	UnixMS int64  `json:"unix_ms"`
	// ClockChange is set if the offset differs from the previous fire's.
	ClockChange string `json:"clock_change,omitempty"`

	at time.Time
}

func nextCommand(term *terminal) *cobra.Command {
	var flags nextFlags
	c := &cobra.Command{
		Use:   "next CRON|JOB",
		Short: "Show when a cron expression or a job fires",
		Long: "Next shows the next instants of a cron expression, or of a job in the configuration. An argument\n" +
			"without blanks is the name of a job.",
		Example: "  wasmjobd next '0 0 12 LW * ?' -n 5 --tz America/New_York\n" +
			"  wasmjobd next '30 2 * * 0' --dialect unix --from 2026-03-01T00:00:00Z\n" +
			"  wasmjobd next daily-report --config jobs.toml -o json",
		Args: oneArgument,
	}
	flags.config = configFlag(c)
	c.Flags().IntVarP(&flags.count, "count", "n", 10, "number of instants")
	c.Flags().StringVar(&flags.zone, "tz", "", "time `zone` of the schedule (default: the job's, or UTC)")
	c.Flags().StringVar(&flags.from, "from", "", "show instants after this `instant` (RFC 3339; default: now)")
	c.Flags().StringVar(&flags.dialect, "dialect", "", "quartz or unix (default: the job's, or quartz)")
	c.RunE = func(c *cobra.Command, args []string) error {
		return next(term, args[0], flags, c.Flags().Changed("config"))
	}
	return c
}

func oneArgument(c *cobra.Command, args []string) error {
	switch {
	case len(args) == 0 || strings.TrimSpace(args[0]) == "":
		return usage("write a cron expression or the name of a job: %s", c.UseLine())
	case len(args) > 1:
		return usage("%d arguments instead of one; put the cron expression into quotes: '%s'", len(args), strings.Join(args, " "))
	}
	return nil
}

func next(term *terminal, what string, flags nextFlags, configGiven bool) error {
	if flags.count < 1 || flags.count > maxFires {
		return usage("--count %d: write 1 to %d", flags.count, maxFires)
	}
	from := time.Now()
	if flags.from != "" {
		var err error
		if from, err = time.Parse(time.RFC3339, flags.from); err != nil {
			return usage("--from %q: write an instant such as 2026-01-01T00:00:00Z", flags.from)
		}
	}
	p, err := planOf(term, what, flags, configGiven)
	if err != nil {
		return err
	}
	s, err := config.Compile(p)
	if err != nil {
		return exitf(exitInvalid, "cron %q: %w", p.Cron, err)
	}
	fires, err := ahead(s, p, from, flags.count)
	if err != nil {
		return err
	}
	if term.json() {
		return term.printJSON(fires)
	}
	for _, f := range fires {
		term.printf("%s", clock(f.at))
		if f.ClockChange != "" {
			term.printf("  clock changed: %s", f.ClockChange)
		}
		term.printf("\n")
	}
	if len(fires) < flags.count {
		term.note("it never fires after that")
	}
	for _, note := range config.Warnings(s, from) {
		term.note("%s", note)
	}
	return nil
}

// planOf returns the job whose schedule "next" shows. what is the argument of "next": if it has a
// blank, it is a cron expression, unless the given configuration has a job of that name; otherwise
// it names a job.
func planOf(term *terminal, what string, flags nextFlags, configGiven bool) (job.Config, error) {
	p := job.Config{Cron: what, TimeZone: "UTC"}
	isCron := strings.ContainsAny(what, " \t")
	if !isCron || configGiven { // the name of a job may have blanks
		f, err := loadConfig(term, *flags.config)
		if err != nil {
			return p, jobOrCron(what, configGiven, err)
		}
		c, found := jobNamed(f, what)
		switch {
		case found && len(c.After) > 0:
			return p, exitf(exitInvalid, "job %s has no schedule: it runs at each instant at which %s ended well",
				what, strings.Join(c.After, " and "))
		case found && c.Cron == "":
			return p, exitf(exitInvalid, "job %s is manual: only a trigger runs it", what)
		case found:
			p = c
		case !isCron:
			return p, noSuchJob(f, what)
		}
	}
	if flags.zone != "" {
		p.TimeZone = flags.zone
	}
	if flags.dialect != "" {
		p.Dialect = flags.dialect
	}
	switch p.Dialect {
	case "", "quartz", "unix":
	default:
		return p, usage("--dialect %q: write quartz or unix", p.Dialect)
	}
	if _, err := config.Location(p.TimeZone); err != nil {
		return p, usage("--tz: %w", err)
	}
	return p, nil
}

// jobOrCron returns the error for a configuration that could not be read. If the operator named no
// configuration and the default file is missing, a cron expression may have been meant.
func jobOrCron(what string, configGiven bool, err error) error {
	var problems config.Problems
	if !configGiven && errors.As(err, &problems) && len(problems) == 1 && problems[0].Why.Code == reason.FileUnreadable {
		return exitf(exitNotFound, "%q has no blanks, so it is the name of a job, but there is no %s here; name one with --config", what, defaultConfig)
	}
	return err
}

func jobNamed(f *config.File, name string) (job.Config, bool) {
	for _, c := range f.Jobs {
		if c.Name == name {
			return c, true
		}
	}
	return job.Config{}, false
}

func jobNames(f *config.File) []string {
	names := make([]string, len(f.Jobs))
	for i, c := range f.Jobs {
		names[i] = c.Name
	}
	return names
}

// andAsk returns the end of a message about an unknown name: a question with the similar known
// name, or "".
func andAsk(name string, known []string) string {
	if ask := nearest.Question(name, known); ask != "" {
		return "; " + ask
	}
	return ""
}

// noSuchJob is the error for a job that the configuration does not have.
func noSuchJob(f *config.File, name string) error {
	names := jobNames(f)
	if ask := andAsk(name, names); ask != "" {
		return exitf(exitNotFound, "there is no job %q%s", name, ask)
	}
	const most = 10 // names in a message
	if len(names) > most {
		names = append(names[:most], "…")
	}
	return exitf(exitNotFound, "there is no job %q; there are: %s", name, strings.Join(names, ", "))
}

// ahead lists up to n instants of s, the schedule of p, after from. If there is none, it returns the
// reason as an error.
func ahead(s config.Schedule, p job.Config, from time.Time, n int) ([]fire, error) {
	zone, err := config.Location(p.TimeZone)
	if err != nil {
		return nil, exitf(exitInvalid, "%w", err)
	}
	var fires []fire
	before := from.In(zone)
	for range n {
		at := s.Next(before)
		if at.IsZero() {
			break
		}
		at = at.In(zone)
		fires = append(fires, fire{
			Time:        at.Format(time.RFC3339),
			UnixMS:      at.UnixMilli(),
			ClockChange: clockChange(before, at),
			at:          at,
		})
		before = at
	}
	if len(fires) == 0 {
		return nil, exitf(exitInvalid, "cron %q: %w", p.Cron, config.Never(s, from))
	}
	return fires, nil
}

// clockChange describes how the offset of a zone changes between two instants; "" if it does not.
func clockChange(before, after time.Time) string {
	a, b := before.Format("-07:00"), after.Format("-07:00")
	if a == b {
		return ""
	}
	return fmt.Sprintf("%s to %s", a, b)
}

// clock formats an instant for people: weekday, date, time, offset, zone.
func clock(at time.Time) string {
	s := at.Format("Mon 2006-01-02 15:04:05 -07:00")
	// Zones without letters of their own have the offset as their abbreviation.
	if name, _ := at.Zone(); !strings.HasPrefix(name, "+") && !strings.HasPrefix(name, "-") {
		s += " " + name
	}
	return s
}
