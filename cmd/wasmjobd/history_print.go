package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"

	"github.com/wasmjob/wasmjob/host/admin"
	"github.com/wasmjob/wasmjob/host/config"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/trace"
)

// The JSON of the verbs below history. Scripts read it: add fields, but do not change any.

type listed struct {
	Version int         `json:"version"`
	Rows    []listedRow `json:"rows"`
	Next    string      `json:"next,omitempty"`
	// InRegistry are rows that are in none of the histories that were read.
	InRegistry []listedRow `json:"registry_rows,omitempty"`
	// Others are servers with histories of their own; empty if as many histories were named.
	Others []otherServer `json:"other_servers,omitempty"`
	// Unread are servers and histories that did not answer.
	Unread []string `json:"unread,omitempty"`
}

type listedRow struct {
	Job       string      `json:"job"`
	Item      int         `json:"item"`
	Run       string      `json:"run"`
	Attempt   int         `json:"attempt"`
	Instant   string      `json:"instant"`
	InstantMs int64       `json:"instant_unix_ms"`
	Last      string      `json:"last,omitempty"` // of a gap
	LastMs    int64       `json:"last_unix_ms,omitempty"`
	Count     int64       `json:"count,omitempty"`
	Schedule  string      `json:"schedule,omitempty"` // of the instants
	Param     string      `json:"param,omitempty"`    // that the run got instead of the job's
	Cause     trace.Cause `json:"cause"`
	State     trace.State `json:"state"`
	Reason    string      `json:"reason,omitempty"`
	reasonCode
	Instance string  `json:"instance,omitempty"`
	TaskID   string  `json:"task_id,omitempty"`
	Start    string  `json:"start,omitempty"`
	StartMs  int64   `json:"start_unix_ms,omitempty"`
	End      string  `json:"end,omitempty"`
	EndMs    int64   `json:"end_unix_ms,omitempty"`
	Took     string  `json:"duration,omitempty"`
	TookMs   int64   `json:"duration_ms,omitempty"`
	Result   string  `json:"result,omitempty"`
	Error    string  `json:"error,omitempty"`
	Code     *int32  `json:"code,omitempty"` // absent if the entry did not return
	Digest   string  `json:"digest,omitempty"`
	Fence    int64   `json:"fence,omitempty"`
	Log      *string `json:"log,omitempty"` // for "show" only; absent if no log was kept
	// Registry is the address of the server whose row is only in the registry, in none of the
	// histories that were read.
	Registry string `json:"in_registry_for,omitempty"`

	Fuel      int64           `json:"fuel,omitempty"`
	Succeeded int64           `json:"elements_succeeded,omitempty"`
	Failed    int64           `json:"elements_failed,omitempty"`
	Metrics   json.RawMessage `json:"metrics,omitempty"`
}

type checked struct {
	Version  int             `json:"version"`
	Findings []trace.Finding `json:"findings"`
	More     int64           `json:"more,omitempty"` // findings that were not kept
	Jobs     []checkedCount  `json:"jobs"`
}

type checkedCount struct {
	Job      string `json:"job"`
	Rows     int64  `json:"rows"`
	Instants int64  `json:"instants"`
	Findings int64  `json:"findings"`
}

type purged struct {
	Version int `json:"version"`
	admin.Purged
	DryRun bool `json:"dry_run"`
}

// listedPage returns the JSON of a page. Rows that only the registry has are on their own.
func listedPage(page foundPage) listed {
	out := listed{Version: 1, Rows: make([]listedRow, 0, len(page.rows)), Next: page.next}
	for i := range page.rows {
		if r := &page.rows[i]; r.by != "" {
			out.InRegistry = append(out.InRegistry, rowOf(r))
		} else {
			out.Rows = append(out.Rows, rowOf(r))
		}
	}
	return out
}

// rowOf returns the JSON of a row.
func rowOf(r *foundRow) listedRow {
	x := listedRow{Job: r.Job, Item: r.Item, Run: r.Run, Attempt: r.Attempt,
		Instant: stamp(r.Instant, time.UTC), InstantMs: r.Instant, Count: r.Count,
		Schedule: r.Schedule, Param: r.Param, Cause: r.Cause, State: r.State, Reason: r.Reason.String(), reasonCode: codeOf(r.Reason), Instance: r.Instance, TaskID: r.TaskID,
		Start: stamp(r.Start, time.UTC), StartMs: r.Start, End: stamp(r.End, time.UTC), EndMs: r.End,
		Result: r.Result, Error: r.Error, Digest: r.Digest, Fence: r.Fence,
		Fuel: r.Fuel, Succeeded: r.Succeeded, Failed: r.Failed, Metrics: json.RawMessage(r.Metrics), Registry: r.by}
	if r.Count > 0 {
		x.Last, x.LastMs = stamp(r.Last, time.UTC), r.Last
	}
	if r.HasCode {
		x.Code = &r.Code
	}
	if r.HasLog {
		x.Log = &r.Log
	}
	if took, ok := tookOf(r.Row); ok {
		x.Took, x.TookMs = took.String(), took.Milliseconds()
	}
	return x
}

// stamp formats a time in Unix milliseconds; 0, which is not known, as "".
func stamp(ms int64, zone *time.Location) string {
	if ms == 0 {
		return ""
	}
	return time.UnixMilli(ms).In(zone).Format("2006-01-02T15:04:05.999Z07:00")
}

// tookOf returns how long an attempt took, and false if that is not known.
func tookOf(r trace.Row) (time.Duration, bool) {
	if r.Start == 0 || r.End < r.Start {
		return 0, false
	}
	return time.Duration(r.End-r.Start) * time.Millisecond, true
}

// zonesOf returns the time zones of jobs, by name.
func zonesOf(jobs []job.Config) map[string]*time.Location {
	zones := map[string]*time.Location{}
	for _, j := range jobs {
		if zone, err := config.Location(j.TimeZone); err == nil {
			zones[j.Name] = zone
		}
	}
	return zones
}

func printRows(term *terminal, rows []foundRow, zone *time.Location) {
	w := tabwriter.NewWriter(term.out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "TIME (%s)\tJOB\tITEM\tATTEMPT\tCAUSE\tSTATE\tCODE\tSERVER\tDURATION\tRESULT\n", zone)
	for _, r := range rows {
		attempt, code, took := strconv.Itoa(r.Attempt), "-", "-"
		if r.Attempt == 0 {
			attempt = "-"
		}
		if r.HasCode {
			code = strconv.Itoa(int(r.Code))
		}
		if d, ok := tookOf(r.Row); ok {
			took = d.String()
		}
		fmt.Fprintf(w, "%s\t%s\t%d\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", stamp(r.Instant, zone), plain(r.Job), r.Item, attempt,
			orDash(plain(string(r.Cause))), plain(string(r.State)), code, orDash(plain(serverOf(r.Instance))), took, orDash(saying(&r, zone)))
	}
	_ = w.Flush() // errors of a closed pipe are dropped
}

// serverOf returns the address in the id of an instance.
func serverOf(instance string) string {
	address, _, _ := strings.Cut(instance, "@-@")
	return address
}

// saying returns what a row says beyond its columns, in one short line.
func saying(r *foundRow, zone *time.Location) string {
	var parts []string
	if r.by != "" {
		parts = append(parts, "in the registry, for the history of "+r.by)
	}
	if r.Count > 1 { // a gap
		parts = append(parts, fmt.Sprintf("%d instants to %s", r.Count, stamp(r.Last, zone)))
	}
	for _, s := range []string{r.Reason.String(), r.Error, r.Result} {
		if s = plain(s); s != "" {
			parts = append(parts, s)
		}
	}
	return plain(strings.Join(parts, "; "))
}

const (
	// plainLimit is the number of characters of a text in a table.
	plainLimit = 80
	// sentenceLimit bounds a text on a line of its own.
	sentenceLimit = 600
)

// plain shortens texts of guests and other members, and removes characters that could control a
// terminal.
func plain(s string) string { return plainUpTo(plainLimit, s) }

func plainUpTo(limit int, s string) string {
	var b strings.Builder
	n := 0
	for _, r := range s {
		if n == limit {
			return b.String() + "…"
		}
		if !unicode.IsPrint(r) {
			r = ' '
		}
		b.WriteRune(r)
		n++
	}
	return strings.TrimSpace(b.String())
}

func orDash(s string) string { return cmp.Or(s, "-") }

// printChecked prints the result of a check, and returns the number of all findings, also of those that
// were not kept.
func printChecked(term *terminal, all []admin.Checked) (int64, error) {
	out := checked{Version: 1, Findings: []trace.Finding{}, Jobs: []checkedCount{}}
	found := int64(0)
	zones := map[string]*time.Location{}
	for _, c := range all {
		n := int64(len(c.Findings)) + c.More
		found += n
		out.More += c.More
		out.Findings = append(out.Findings, c.Findings...)
		out.Jobs = append(out.Jobs, checkedCount{c.Job, c.Rows, c.Instants, n})
		if zone, err := config.Location(c.TimeZone); err == nil {
			zones[c.Job] = zone
		}
	}
	if term.json() {
		return found, term.printJSON(out)
	}
	for _, f := range out.Findings {
		term.printf("%s\n", visibleText(f.Text(cmp.Or(zones[f.Job], time.UTC))))
	}
	for _, j := range out.Jobs {
		term.printf("%s: %d rows, %d instants, %d findings\n", plain(j.Job), j.Rows, j.Instants, j.Findings)
	}
	if out.More > 0 {
		term.note("%d findings are not shown; narrow the window with --from and --to", out.More)
	}
	return found, nil
}
