package admin

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/operator"
	"github.com/wasmjob/wasmjob/host/trace"
)

const (
	historyPath = "/api/v1/history"
	checkPath   = historyPath + "/check"
	purgePath   = historyPath + ":purge"
	// MaxLogged is the limit of a page of rows with their logs.
	MaxLogged = 100
)

// Purge selects the rows of histories that are deleted.
type Purge struct {
	Job    string        // "": of all jobs
	Age    time.Duration // 0: however old
	PerJob int           // 0: however many
	Bytes  int64         // 0: however large
	Dry    bool          // only count them
	Here   bool          // only in the history of the asked server
}

// Purged is the number of rows that were deleted from histories, or would be.
type Purged struct {
	Rows   int64      `json:"rows"`                    // in all
	Others []PurgedAt `json:"other_servers,omitempty"` // how many of them on each other server
	Unread []string   `json:"unread,omitempty"`        // servers that did not answer, and may still have rows
}

// PurgedAt is Purged of another server.
type PurgedAt struct {
	Server string `json:"server"`
	Rows   int64  `json:"rows"`
}

// CheckWanted selects the job and the time (From, To], in Unix milliseconds, for which a history is
// checked.
type CheckWanted struct {
	Job      string // "": all
	From, To *int64 // nil: from the first row, or up to the last
}

// Checked is what a check has found of a job.
type Checked struct {
	Job      string
	TimeZone string
	trace.Report
}

// historyRoutes are the routes of histories as a whole.
func historyRoutes() []route {
	moment := schema{"type": "integer", "minimum": 0}
	return []route{
		{
			method: http.MethodGet, path: historyPath, right: operator.View, does: shows(listHistory), fails: []string{codeInvalid},
			served: func(o *Options) bool { return o.Runs != nil },
			says: "answers with a page of rows of all jobs, from the histories of all servers, as `history list -o json`. With \"logs\" the rows are as `history export` has them, " +
				"at most " + strconv.Itoa(MaxLogged) + ". With long texts a page has fewer rows, and a next one. \"unread\" names servers that did not answer and may have more rows",
			query: append(pageParameters("rows"),
				parameter{name: "job", says: "the name of a job"},
				parameter{name: "item", says: "the number of an item", takes: itemSchema},
				parameter{name: "state", says: "a state of runs", oneOf: textsOf(trace.States())},
				parameter{name: "cause", says: "a cause of runs", oneOf: textsOf(trace.Causes())},
				parameter{name: "since", says: "instants from then on, in Unix milliseconds", takes: moment},
				parameter{name: "until", says: "instants before then, in Unix milliseconds", takes: moment},
				parameter{name: "logs", says: "true: with the end of what each logged", oneOf: yesOrNo},
			),
		},
		{
			method: http.MethodGet, path: checkPath, right: operator.View, does: shows(checkHistory), fails: []string{codeInvalid, codeNotFound},
			served: func(o *Options) bool { return o.Check != nil },
			says: "answers as `history check`, with the files of this server and the histories of all servers. A time with more than some million instants is refused. " +
				"What servers in \"unread\" ran may be missing: they were silent, or have too many rows of a job; all other servers together give at most " + strconv.Itoa(maxElsewhere) + " of them",
			query: []parameter{
				{name: "job", says: "the name of a job"},
				{name: "from", says: "instants after then, in Unix milliseconds", takes: moment},
				{name: "to", says: "instants up to then, in Unix milliseconds", takes: moment},
			},
		},
		{
			method: http.MethodPost, path: purgePath, right: operator.Administer, does: purgeAction(), fails: []string{codeInvalid},
			served: func(o *Options) bool { return o.Purge != nil },
			says: "does what `history purge` does, in the histories of all servers or with \"here\" of this one. \"older_than\" is a time such as 720h, \"per_job\" how many rows of each job stay, \"bytes\" how many bytes; " +
				"without these, what the server's file says. With \"dry_run\" it only counts. \"unread\" names servers that did not answer",
		},
	}
}

// listHistory answers with a page of rows.
func listHistory(r *request) (runsDocument, error) {
	want := RunsWanted{Job: r.query.Get("job"), State: trace.State(r.query.Get("state")), Cause: trace.Cause(r.query.Get("cause")), Cursor: r.query.Get("cursor"), Logs: r.query.Get("logs") == "true"}
	var err error
	if want.Limit, err = r.limit(); err != nil {
		return runsDocument{}, err
	}
	if want.Logs && want.Limit > MaxLogged {
		return runsDocument{}, wrongParameter("limit", fmt.Sprintf("with logs, limit is 1 to %d", MaxLogged))
	}
	since, err := r.moment("since")
	if err != nil {
		return runsDocument{}, err
	}
	until, err := r.moment("until")
	if err != nil {
		return runsDocument{}, err
	}
	item, err := r.moment("item")
	if err != nil {
		return runsDocument{}, err
	}
	if since != nil {
		want.Since = *since
	}
	if until != nil {
		want.Until = *until
		if want.Until == 0 { // it would stand for no bound, and no run is of a time before 1970
			return runsDocument{Version: 1, Runs: []runDocument{}}, nil
		}
	}
	if item != nil {
		n := int(*item)
		want.Item = &n
	}
	d, err := r.page(want)
	r.linkNext(d.Next)
	return d, err
}

// moment returns a number of the query that is not negative; nil: it is not there.
func (r *request) moment(name string) (*int64, error) {
	text := r.query.Get(name)
	if text == "" {
		return nil, nil //nolint:nilnil // there is none
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 {
		return nil, wrongParameter(name, fmt.Sprintf("%s is a number, not %.64q", name, text))
	}
	return &n, nil
}

type checkedDocument struct {
	Version int          `json:"version"`
	Jobs    []checkedJob `json:"jobs"`
	// Unread names servers that did not return all their rows. The check goes on without these rows.
	Unread []string `json:"unread,omitempty"`
}

type checkedJob struct {
	Job      string            `json:"job"`
	TimeZone string            `json:"timezone,omitempty"`
	Rows     int64             `json:"rows"`
	Instants int64             `json:"instants"`
	More     int64             `json:"more,omitempty"` // findings that are not shown
	Findings []findingDocument `json:"findings"`
}

// findingDocument is a finding, with times in Unix milliseconds.
type findingDocument struct {
	Kind    string `json:"kind"`
	Item    int    `json:"item"`
	Run     string `json:"run,omitempty"`
	Attempt int    `json:"attempt,omitempty"`
	First   int64  `json:"first_unix_ms"`
	Last    int64  `json:"last_unix_ms"`
	Count   int64  `json:"count,omitempty"`
	Detail  string `json:"detail"`
}

// checkHistory compares the histories of this server and the others with the schedules of this server's jobs.
func checkHistory(r *request) (checkedDocument, error) {
	from, err := r.moment("from")
	if err != nil {
		return checkedDocument{}, err
	}
	to, err := r.moment("to")
	if err != nil {
		return checkedDocument{}, err
	}
	if from != nil && to != nil && *from >= *to {
		return checkedDocument{}, wrongParameter("from", "from is before to")
	}
	others := gathered{r: r, every: r.query.Get("job") == "", until: time.Now().Add(r.h.checkTime), silent: map[string]bool{}}
	var rows RowsElsewhere
	if r.asksOthers() && !r.h.o.SharedRuns {
		rows = others.rows
	}
	inForce := func(ctx context.Context, as host.Options) []job.Config {
		all, err := r.op.InForce(ctx, as)
		if err != nil {
			others.unread = append(others.unread, "the registry, for the settings of jobs ("+err.Error()+")")
		}
		return all
	}
	all, err := r.h.o.Check(r.Context(), CheckWanted{Job: r.query.Get("job"), From: from, To: to}, inForce, rows)
	d := checkedDocument{1, []checkedJob{}, others.unread}
	for _, c := range all {
		j := checkedJob{c.Job, c.TimeZone, c.Rows, c.Instants, c.More, []findingDocument{}}
		for _, f := range c.Findings {
			j.Findings = append(j.Findings, findingDocument{string(f.Kind), f.Item, f.Run, f.Attempt, f.First, f.Last, f.Count, f.Detail})
		}
		d.Jobs = append(d.Jobs, j)
	}
	return d, err
}

type purgeBody struct {
	Job       *string `json:"job"`
	OlderThan *string `json:"older_than"`
	PerJob    *int    `json:"per_job"`
	Bytes     *int64  `json:"bytes"`
	Here      bool    `json:"here"`
}

// purge converts a body. It refuses values that would stand for no limit.
func (b *purgeBody) purge() (p Purge, err error) {
	if p.Job, err = textIn("job", b.Job); err != nil {
		return p, err
	}
	wrong := false
	if b.OlderThan != nil {
		p.Age, err = time.ParseDuration(*b.OlderThan)
		wrong = err != nil || p.Age <= 0
	}
	if b.PerJob != nil {
		p.PerJob = *b.PerJob
		wrong = wrong || p.PerJob <= 0
	}
	if b.Bytes != nil {
		p.Bytes = *b.Bytes
		wrong = wrong || p.Bytes <= 0
	}
	if wrong {
		return p, refuse(http.StatusUnprocessableEntity, codeInvalid, `write "older_than" as a time such as 720h, and numbers of 1 or more`)
	}
	return p, nil
}

type purgedDocument struct {
	Version int `json:"version"`
	Purged
	DryRun bool `json:"dry_run"`
}

// purgeAction deletes rows, or counts them in a dry run.
func purgeAction() action {
	does := calls(func(r *request, b *purgeBody) (purgedDocument, error) {
		p, err := b.purge()
		if err != nil {
			return purgedDocument{}, err
		}
		p.Dry, p.Here = r.dry(), b.Here
		rows, err := r.h.o.Purge(r.Context(), p)
		if !p.Dry && (err == nil || rows > 0) { // also if it ended early, and before the others are asked, which may take long
			err = errors.Join(err, r.note("history purge", fmt.Sprintf("job=%s older_than=%s per_job=%d bytes=%d rows=%d", p.Job, p.Age, p.PerJob, p.Bytes, rows)))
		}
		if err != nil {
			return purgedDocument{}, err
		}
		done := Purged{Rows: rows}
		if !p.Here && r.asksOthers() && !r.h.o.SharedRuns {
			r.purgeOthers(p, &done)
		}
		return purgedDocument{1, done, p.Dry}, nil
	})
	does.reports = true
	return does
}

// purgeOthers deletes rows of the histories of the other servers, each by its own clock and, if the
// request has no limits, by its own file.
func (r *request) purgeOthers(p Purge, done *Purged) {
	p.Here = true
	clients, unread := r.others(r.Context(), p.Job, operator.Administer)
	var mu sync.Mutex // guards done
	silent := operator.AskAllTo(r.Context(), clients, func(ctx context.Context, address string, c *Client) error {
		there, err := c.PurgeHistory(ctx, p)
		mu.Lock()
		defer mu.Unlock()
		if done.Rows += there.Rows; err == nil {
			done.Others = append(done.Others, PurgedAt{address, there.Rows})
		}
		return err
	})
	slices.SortFunc(done.Others, func(a, b PurgedAt) int { return strings.Compare(a.Server, b.Server) })
	done.Unread = append(silent, unread...)
}

// history is the query of a page of rows of several jobs.
func (w *RunsWanted) history() url.Values {
	query := url.Values{}
	addTexts(query, map[string]string{"job": w.Job, "cause": string(w.Cause)})
	for name, value := range map[string]int64{"since": w.Since, "until": w.Until} {
		if value > 0 {
			query.Set(name, strconv.FormatInt(value, 10))
		}
	}
	if w.Logs {
		query.Set("logs", "true")
	}
	return query
}

// CheckHistory checks the histories of the server and the others that it can ask, by its own files. unread
// are servers that did not answer.
func (c *Client) CheckHistory(ctx context.Context, want CheckWanted) (all []Checked, unread []string, err error) {
	query := url.Values{}
	if want.Job != "" {
		query.Set("job", want.Job)
	}
	for name, at := range map[string]*int64{"from": want.From, "to": want.To} {
		if at != nil {
			query.Set(name, strconv.FormatInt(*at, 10))
		}
	}
	var d checkedDocument
	if err := c.read(ctx, http.MethodGet, checkPath+"?"+query.Encode(), nil, &d); err != nil {
		return nil, nil, err
	}
	for _, j := range d.Jobs {
		one := Checked{Job: j.Job, TimeZone: j.TimeZone, Report: trace.Report{Rows: j.Rows, Instants: j.Instants, More: j.More}}
		for _, f := range j.Findings {
			one.Findings = append(one.Findings, trace.Finding{Kind: trace.Kind(f.Kind), Job: j.Job, Item: f.Item, Run: f.Run, Attempt: f.Attempt, First: f.First, Last: f.Last, Count: f.Count, Detail: f.Detail})
		}
		all = append(all, one)
	}
	return all, d.Unread, nil
}

// PurgeHistory deletes rows of the histories of the server and the others that it can ask, or counts them.
func (c *Client) PurgeHistory(ctx context.Context, p Purge) (Purged, error) {
	body := map[string]any{}
	if p.Job != "" {
		body["job"] = p.Job
	}
	if p.Age != 0 {
		body["older_than"] = p.Age.String()
	}
	if p.PerJob != 0 {
		body["per_job"] = p.PerJob
	}
	if p.Bytes != 0 {
		body["bytes"] = p.Bytes
	}
	if p.Here {
		body["here"] = true
	}
	at := purgePath
	if p.Dry {
		at += "?" + dryName + "=true"
	}
	var d purgedDocument
	err := c.read(ctx, http.MethodPost, at, body, &d)
	return d.Purged, err
}

// RetryModule makes the server compile a refused module again. prefix is the beginning of its digest.
func (c *Client) RetryModule(ctx context.Context, prefix string) (digest string, err error) {
	if _, err := checkName(prefix); err != nil { // it would make another path
		return "", &host.Error{Code: host.NotFound, Msg: "there is no such module"}
	}
	var d retriedDocument
	err = c.read(ctx, http.MethodPost, modulesPath+"/"+url.PathEscape(prefix)+":retry", nil, &d)
	return d.Digest, err
}

type retriedDocument struct {
	Version int    `json:"version"`
	Digest  string `json:"digest"`
	DryRun  bool   `json:"dry_run,omitempty"`
}

// retryAction makes the server compile a module again that it refuses since an earlier try crashed it.
func retryAction() action {
	does := calls(func(r *request, _ *nothing) (retriedDocument, error) {
		digest, err := r.h.o.RetryModule(r.PathValue("digest"), r.dry())
		if err == nil && !r.dry() {
			err = r.note("module retry", "digest="+digest)
		}
		return retriedDocument{1, digest, r.dry()}, err
	})
	does.reports = true
	return does
}
