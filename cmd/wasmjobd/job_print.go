package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/wasmjob/wasmjob/host/config"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/operator"
	"github.com/wasmjob/wasmjob/host/reason"
)

// The JSON of the verbs below job and server. Scripts read it: add fields, but do not change
// any.

type askedOf struct {
	Version int      `json:"version"`
	Jobs    []string `json:"jobs"` // for which the request was written
	Asked   string   `json:"asked"`
	// AsBefore are those of Jobs that needed no change.
	AsBefore []string `json:"as_before,omitempty"`
}

type listedJobs struct {
	Version int         `json:"version"`
	Jobs    []listedJob `json:"jobs"`
}

type listedJob struct {
	Job         string   `json:"job"`
	State       string   `json:"state"`
	Cron        string   `json:"cron,omitempty"`
	CatchUp     string   `json:"catch_up,omitempty"`
	After       []string `json:"after,omitempty"`
	Description string   `json:"description,omitempty"`
	Shards      int      `json:"shards"`
	Running     int      `json:"running"`
	Servers     int      `json:"servers"` // servers that run it now
	Disabled    []string `json:"disabled_servers"`
	// Drained are those of the servers that are disabled because an operator drains them.
	Drained    []drainedServer `json:"drained_servers,omitempty"`
	Leader     string          `json:"leader,omitempty"`
	Paused     bool            `json:"paused"`
	Pause      *paused         `json:"pause,omitempty"`
	Resharding bool            `json:"resharding"`
	Faults     []string        `json:"faults"`
	// Findings are the faults, with their codes.
	Findings []finding `json:"findings"`
	lastRuns
}

// paused is an operator's pause.
type paused struct {
	By      string `json:"by,omitempty"`
	Reason  string `json:"reason,omitempty"`
	Since   string `json:"since,omitempty"`
	SinceMs int64  `json:"since_unix_ms,omitempty"`
	Until   string `json:"until,omitempty"`
	UntilMs int64  `json:"until_unix_ms,omitempty"`
}

// pausedOf returns the pause of a job; nil if it is not paused, or this is not known.
func pausedOf(r *operator.JobReport) *paused {
	if r.Pause == (operator.PauseReport{}) {
		return nil
	}
	p := &paused{By: r.Pause.By, Reason: r.Pause.Why, SinceMs: millis(r.Pause.Since), UntilMs: millis(r.Pause.Until)}
	p.Since, p.Until = stamp(p.SinceMs, time.UTC), stamp(p.UntilMs, time.UTC)
	return p
}

// words describes a pause, with its times in a zone.
func (p *paused) words(zone *time.Location) string {
	text := "since " + orDash(stamp(p.SinceMs, zone))
	if p.By != "" {
		text = "by " + p.By + " " + text
	}
	if p.UntilMs != 0 {
		text += " until " + stamp(p.UntilMs, zone)
	}
	if p.Reason != "" {
		text += ": " + p.Reason
	}
	return text
}

// switchedOff returns the servers that an operator has disabled for the job itself, without a drain.
func (j *listedJob) switchedOff() []string {
	return slices.DeleteFunc(slices.Clone(j.Disabled), func(ip string) bool {
		return slices.ContainsFunc(j.Drained, func(d drainedServer) bool { return d.Server == ip })
	})
}

// stateOf returns the state of a job for a list, with the end of its pause, or the reason why all its
// servers are disabled if that is a drain.
func (j *listedJob) stateOf() string {
	if j.State == "disabled" && len(j.Drained) == len(j.Disabled) {
		return "disabled, drained"
	}
	if j.State == "paused" && j.Pause != nil && j.Pause.UntilMs != 0 {
		return j.State + " until " + j.Pause.Until
	}
	return j.State
}

type shownJob struct {
	Version int `json:"version"`
	listedJob
	shownModules
	Members []shownMember `json:"members"`
	Leaving []shownMember `json:"leaving,omitempty"`
	Items   []shownItem   `json:"items"`
}

type shownMember struct {
	Instance string            `json:"instance"`
	Foreign  bool              `json:"foreign"`
	Labels   map[string]string `json:"labels,omitempty"`
	Disabled bool              `json:"disabled"`
	Asked    bool              `json:"triggered"`
	Items    int               `json:"items"`
	Running  int               `json:"running"`
}

type shownItem struct {
	Item      int    `json:"item"`
	State     string `json:"state"`
	Owner     string `json:"owner,omitempty"`
	Disabled  bool   `json:"disabled"`
	Misfired  bool   `json:"misfired"`
	Pending   bool   `json:"pending"`
	Retry     string `json:"retry,omitempty"` // not before this time
	RetryMs   int64  `json:"retry_unix_ms,omitempty"`
	Backfill  int    `json:"backfill,omitempty"` // number of instants that wait to begin late
	Runner    string `json:"runs_on,omitempty"`
	Begun     string `json:"begun,omitempty"`
	BegunMs   int64  `json:"begun_unix_ms,omitempty"`
	Instant   string `json:"instant,omitempty"`
	InstantMs int64  `json:"instant_unix_ms,omitempty"`
	Cause     string `json:"cause,omitempty"`
	Attempt   int    `json:"attempt,omitempty"`
	Param     string `json:"param,omitempty"` // that the run got instead of the job's
	Last      string `json:"last,omitempty"`
	LastMs    int64  `json:"last_unix_ms,omitempty"`
	BeganLast string `json:"last_begin,omitempty"`
	BeganMs   int64  `json:"last_begin_unix_ms,omitempty"`
	EndedLast string `json:"last_end,omitempty"`
	EndedMs   int64  `json:"last_end_unix_ms,omitempty"`
}

func jobsOf(reports []operator.JobReport) listedJobs {
	out := listedJobs{Version: 1, Jobs: []listedJob{}}
	for i := range reports {
		out.Jobs = append(out.Jobs, jobOf(&reports[i]))
	}
	return out
}

// jobOf returns the JSON of a job, from which the text is made, too.
func jobOf(r *operator.JobReport) listedJob {
	j := listedJob{
		Job: r.Name, State: r.State, Running: r.Running, Servers: len(r.Members), Leader: string(r.Leader),
		Paused: r.Paused, Resharding: r.Resharding, Faults: append(textsOf(r.Faults), blockedBy(r)...), Disabled: []string{},
		Findings: append(findingsOf("wrong", r.Faults), findingsOf("blocker", r.Blockers)...), lastRuns: lastRunsOf(r),
	}
	j.Pause = pausedOf(r)
	if r.Config != nil {
		j.Cron, j.Description, j.Shards, j.CatchUp = r.Config.Cron, r.Config.Description, r.Config.Shards, string(r.Config.CatchUp)
		j.After = r.Config.After
	}
	for _, s := range r.Servers {
		if s.Disabled {
			j.Disabled = append(j.Disabled, s.IP)
		}
		if s.Drain != nil {
			j.Drained = append(j.Drained, drainedServer{s.IP, *drainOf(s.Drain), string(reason.ServerDrained)})
		}
	}
	return j
}

func membersOf(all []operator.MemberReport) []shownMember {
	out := []shownMember{}
	for _, m := range all {
		out = append(out, shownMember{
			Instance: string(m.ID), Foreign: m.Foreign, Labels: m.Labels, Disabled: m.Disabled, Asked: m.Asked,
			Items: m.Items, Running: m.Running,
		})
	}
	return out
}

func itemsOf(r *operator.JobReport) []shownItem {
	out := []shownItem{}
	for _, i := range r.Items {
		x := shownItem{
			Item: i.Item, State: i.State, Owner: string(i.Owner), Disabled: i.Disabled, Misfired: i.Misfired, Pending: i.Pending, Backfill: i.Backfill,
			Runner: string(i.Runner), Cause: i.Run.Cause, Attempt: i.Run.Attempt, Param: i.Run.Param,
			BegunMs: millis(i.Run.Begun), InstantMs: millis(i.Run.Instant), LastMs: millis(i.Last),
			BeganMs: millis(i.LastBegin), EndedMs: millis(i.LastEnd), RetryMs: millis(i.Retry),
		}
		x.Retry = stamp(x.RetryMs, time.UTC)
		x.BeganLast, x.EndedLast = stamp(x.BeganMs, time.UTC), stamp(x.EndedMs, time.UTC)
		x.Begun, x.Instant, x.Last = stamp(x.BegunMs, time.UTC), stamp(x.InstantMs, time.UTC), stamp(x.LastMs, time.UTC)
		out = append(out, x)
	}
	return out
}

// millis returns Unix milliseconds; 0 for the zero time.
func millis(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

// table returns a writer of a table, whose cells end with tabs, after its heading.
func table(term *terminal, head string) *tabwriter.Writer {
	w := tabwriter.NewWriter(term.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, head)
	return w
}

func flush(w *tabwriter.Writer) error {
	if err := w.Flush(); err != nil {
		return fmt.Errorf("print: %w", err)
	}
	return nil
}

func printJobs(term *terminal, jobs []operator.JobReport) error {
	w := table(term, "JOB\tSTATE\tCRON\tITEMS\tRUNNING\tSERVERS\tLEADER\tFAULTS\tLAST RUN")
	for i := range jobs {
		j := jobOf(&jobs[i])
		fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%d\t%d\t%s\t%d\t%s\n", plain(j.Job), j.stateOf(), orDash(plain(j.Cron)), j.Shards, j.Running, j.Servers, orDash(plain(j.Leader)), len(j.Faults), j.short())
	}
	return flush(w)
}

// printJob shows a job, with times in zone, or UTC if that is nil.
func printJob(term *terminal, r *operator.JobReport, zone *time.Location) error {
	zone = cmp.Or(zone, time.UTC)
	j := jobOf(r)
	w := tabwriter.NewWriter(term.out, 0, 0, 2, ' ', 0)
	line := func(name, value string) { fmt.Fprintf(w, "%s\t%s\n", name, value) }
	line("job", plain(j.Job))
	line("state", j.State)
	if j.Pause != nil {
		line("paused", plainUpTo(sentenceLimit, j.Pause.words(zone)))
	}
	if j.Description != "" {
		line("description", plain(j.Description))
	}
	if r.Config != nil {
		if len(j.After) > 0 {
			line("after", plain(strings.Join(j.After, ", ")))
		} else {
			line("cron", cmp.Or(plain(j.Cron), "manual"))
		}
		if next := nextOf(r); next != "" {
			line("next", next)
		}
		if c := r.Config.CatchUp; c != job.CatchUpNone {
			line("catch up", plain(string(c)))
		}
		line("items", strconv.Itoa(j.Shards))
	}
	if m := r.Modules.Now; m != nil {
		line("module", m.Digest+" "+plain(m.Name))
	}
	if m := r.Modules.Next; m != nil {
		line("next module", m.Digest+" "+plain(m.Name)+", waits for "+count(len(r.Modules.Waits), "server"))
	}
	line("leader", orDash(plain(j.Leader)))
	for _, d := range j.Drained {
		line("drained", plainUpTo(sentenceLimit, d.words(zone)))
	}
	if off := j.switchedOff(); len(off) > 0 {
		line("disabled on", plain(strings.Join(off, ", ")))
	}
	if j.LastState != "" {
		line("last run", j.long(zone))
	}
	for _, f := range j.Faults {
		line("wrong", plainUpTo(sentenceLimit, f))
	}
	if err := flush(w); err != nil {
		return err
	}
	if len(r.Members)+len(r.Leaving) > 0 {
		term.printf("\n")
		printMembers(term, r)
	}
	if len(r.Items) == 0 {
		return nil
	}
	term.printf("\n")
	return printItems(term, r, zone)
}

func printItems(term *terminal, r *operator.JobReport, zone *time.Location) error {
	w := table(term, "ITEM\tSTATE\tOWNER\tRUNS ON\tBEGUN\tATTEMPT\tCAUSE\tLAST INSTANT\tLAST END\tNOTES")
	for _, i := range r.Items {
		attempt := "-"
		if i.Run.Attempt > 0 {
			attempt = strconv.Itoa(i.Run.Attempt)
		}
		fmt.Fprintf(w, "%d\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", i.Item, i.State, orDash(plain(string(i.Owner))), orDash(plain(string(i.Runner))),
			orDash(stamp(millis(i.Run.Begun), zone)), attempt, orDash(plain(i.Run.Cause)), orDash(stamp(millis(i.Last), zone)), orDash(stamp(millis(i.LastEnd), zone)), itemNotes(i, zone))
	}
	return flush(w)
}

// nextOf returns the next instant of a job, in the registry's time zone for it. During a pause
// with an end, it is the first instant after that. If the instant would be missed as things
// are, nextOf says so.
func nextOf(r *operator.JobReport) string {
	c := r.Config
	if c.Cron == "" || c.TimeZone == "" {
		return ""
	}
	s, err := config.Compile(*c)
	if err != nil {
		return ""
	}
	from := time.Now()
	ends := r.Pause.Until.After(from)
	if ends {
		from = r.Pause.Until.Add(-time.Nanosecond) // an instant at its end begins
	}
	next := s.Next(from)
	if next.IsZero() {
		return "never"
	}
	if r.State == "paused" && !ends || r.State == "disabled" { // without an end of the pause
		return clock(next) + ", missed while it is " + r.State
	}
	return clock(next)
}

func printMembers(term *terminal, r *operator.JobReport) {
	w := table(term, "SERVER\tITEMS\tRUNNING\tLABELS\tNOTES")
	drained := map[string]bool{}
	for _, s := range r.Drained() {
		drained[s.IP] = true
	}
	for i, m := range slices.Concat(r.Members, r.Leaving) {
		notes := notesOf(note{m.ID == r.Leader, "leads"}, note{m.Foreign, "of ElasticJob"}, note{m.Disabled && !drained[m.ID.IP()], "disabled"}, note{drained[m.ID.IP()], "drained"}, note{m.Asked, "was triggered"},
			note{i >= len(r.Members), "leaves when its runs have ended"})
		var labels []string
		for _, name := range slices.Sorted(maps.Keys(m.Labels)) {
			labels = append(labels, name+"="+m.Labels[name])
		}
		fmt.Fprintf(w, "%s\t%d\t%d\t%s\t%s\n", plain(string(m.ID)), m.Items, m.Running, orDash(plain(strings.Join(labels, " "))), notes)
	}
	_ = w.Flush() // printf does not report its errors either
}

func itemNotes(i operator.ItemReport, zone *time.Location) string {
	return notesOf(note{i.Disabled, "disabled"}, note{i.Misfired, "an instant is to be made good"}, note{i.Pending, "waits for a server"},
		note{!i.Retry.IsZero(), "tried again at " + stamp(millis(i.Retry), zone)}, note{i.Backfill > 0, count(i.Backfill, "instant") + " of a backfill wait"},
		note{i.Run.Param != "", "with " + strconv.Quote(shorten(i.Run.Param))})
}

// note is a word about a row of a table, if it applies.
type note struct {
	is   bool
	text string
}

// notesOf joins the notes that apply.
func notesOf(all ...note) string {
	var notes []string
	for _, n := range all {
		if n.is {
			notes = append(notes, n.text)
		}
	}
	return orDash(strings.Join(notes, ", "))
}
