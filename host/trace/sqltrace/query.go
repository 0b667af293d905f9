package sqltrace

import (
	"context"
	"database/sql"
	"fmt"
	"iter"
	"strings"

	"github.com/wasmjob/wasmjob/host/reason"
	"github.com/wasmjob/wasmjob/host/trace"
)

// Filter selects rows. Zero fields select all.
type Filter struct {
	Job   string
	Item  *int
	Run   string
	State trace.State
	Cause trace.Cause
	// Since and Until bound the instant, Since <= instant < Until, in Unix milliseconds.
	Since, Until int64
	// Limit is the number of rows on a page: DefaultLimit if 0, MaxLimit at most.
	Limit int
	// Bytes ends a page after the row whose texts exceed it, so that it takes little memory; 0: there is no
	// such bound.
	Bytes int
	// Cursor is Page.Next of the previous page.
	Cursor string
	// Logs selects the guests' logs as well.
	Logs bool
	// Bare leaves out the texts of guests: result and error.
	Bare bool
}

// Sizes of a page.
const (
	DefaultLimit = 100
	MaxLimit     = 10_000
)

// Page is a part of the result of a query.
type Page struct {
	Rows []trace.Row
	Next string // cursor of the next page; empty on the last page
}

// Query returns rows newest first, by instant. A cursor names the last row of a page, so rows
// written meanwhile shift nothing, and no row appears twice.
func (r *Reader) Query(ctx context.Context, f Filter) (Page, error) {
	limit := f.Limit
	if limit <= 0 {
		limit = DefaultLimit
	}
	limit = min(limit, MaxLimit)
	query, args, err := r.spell(f, limit)
	if err != nil {
		return Page{}, err
	}
	var page Page
	texts := 0
	for row, err := range r.scan(ctx, query, args) {
		if err != nil {
			return Page{}, err
		}
		if n := len(page.Rows); n == limit || f.Bytes > 0 && texts > f.Bytes {
			page.Next = After(&page.Rows[n-1])
			break
		}
		page.Rows = append(page.Rows, row)
		texts += len(row.Result) + len(row.Error) + len(row.Log) + len(row.Metrics)
	}
	return page, nil
}

// spell returns the filter as SQL. It selects one row more than the limit, which shows whether
// there is a next page.
func (r *Reader) spell(f Filter, limit int) (query string, args []any, err error) {
	w, err := f.where()
	if err != nil {
		return "", nil, err
	}
	columns := r.columns
	if !f.Logs {
		columns = withoutLogs(columns)
	}
	if f.Bare {
		columns = withoutTexts(columns)
	}
	return "SELECT " + columns + " FROM wasmjobd_run" + w.String() + f.order() + " LIMIT ?", append(w.args, limit+1), nil
}

// withoutLogs replaces the column of the logs by NULL, so that their texts are not read.
func withoutLogs(columns string) string { return strings.Replace(columns, guestLog, "NULL", 1) }

// withoutTexts replaces the columns of results and errors by empty texts, so that they are not read.
func withoutTexts(columns string) string {
	return strings.Replace(columns, "result, error", "'', ''", 1)
}

// conditions are joined by AND.
type conditions struct {
	parts []string
	args  []any
}

// add adds a condition, with a value for each ? in it.
func (c *conditions) add(part string, args ...any) {
	c.parts = append(c.parts, part)
	c.args = append(c.args, args...)
}

// String returns the WHERE clause; empty if there are no conditions.
func (c *conditions) String() string {
	if len(c.parts) == 0 {
		return ""
	}
	return " WHERE " + strings.Join(c.parts, " AND ")
}

// where returns the filter as conditions. An error is about the cursor.
func (f Filter) where() (*conditions, error) {
	w := &conditions{}
	if !isText(f.Job) || !isText(f.Run) || !isWord(string(f.State)) || !isWord(string(f.Cause)) || f.Item != nil && !isNumber(*f.Item) {
		w.add("1 = 0") // no row has such values, and a database may refuse the query
		return w, nil
	}
	if f.Job != "" {
		w.add("job = ?", f.Job)
	}
	if f.Item != nil {
		w.add("item = ?", *f.Item)
	}
	if f.Run != "" {
		w.add("run = ?", f.Run)
	}
	if f.State != "" {
		w.add("state = ?", string(f.State))
	}
	if f.Cause != "" {
		w.add("cause = ?", string(f.Cause))
	}
	if f.Since != 0 {
		w.add("instant_ms >= ?", f.Since)
	}
	if f.Until != 0 {
		w.add("instant_ms < ?", f.Until)
	}
	if f.Cursor != "" {
		c, err := parseCursor(f.Cursor)
		if err != nil {
			return nil, err
		}
		f.after(w, c)
	}
	return w, nil
}

// order returns the order of Query. With one job, the column job is left out, or databases do
// not recognise that the index has this order.
func (f Filter) order() string {
	switch {
	case f.Job != "" && f.Item != nil && f.Run != "":
		// A run has few rows. The sign prevents SQLite from reading the whole job in this order
		// instead of using the primary key.
		return " ORDER BY +instant_ms DESC, item DESC, run DESC, attempt DESC"
	case f.Job != "":
		return " ORDER BY instant_ms DESC, item DESC, run DESC, attempt DESC"
	}
	return " ORDER BY instant_ms DESC, job DESC, item DESC, run DESC, attempt DESC"
}

// after adds the condition for rows after a cursor in that order.
func (f Filter) after(w *conditions, c trace.Place) {
	// Redundant, but MySQL needs it to use the index.
	w.add("instant_ms <= ?", c.Instant)
	switch {
	case f.Job == "":
		w.add("(instant_ms, job, item, run, attempt) < (?, ?, ?, ?, ?)", c.Instant, c.Job, c.Item, c.Run, c.Attempt)
	case f.Job == c.Job:
		w.add("(instant_ms, item, run, attempt) < (?, ?, ?, ?)", c.Instant, c.Item, c.Run, c.Attempt)
	case f.Job > c.Job: // at the cursor's instant, rows of this job came before it
		w.add("instant_ms < ?", c.Instant)
	}
}

// Has reports whether Query would return a row once it is stored.
func (f Filter) Has(r *trace.Row) (bool, error) {
	if f.Cursor != "" {
		c, err := parseCursor(f.Cursor)
		if err != nil {
			return false, err
		}
		if trace.PlaceOf(r).Compare(c) >= 0 {
			return false, nil
		}
	}
	return (f.Job == "" || r.Job == f.Job) && (f.Item == nil || r.Item == *f.Item) && (f.Run == "" || r.Run == f.Run) &&
		(f.State == "" || r.State == f.State) && (f.Cause == "" || r.Cause == f.Cause) &&
		(f.Since == 0 || r.Instant >= f.Since) && (f.Until == 0 || r.Instant < f.Until), nil
}

// After returns the cursor for the page that begins after a row, in any history.
func After(r *trace.Row) string { return trace.PlaceOf(r).String() }

// parseCursor reads a cursor, which comes from outside, and refuses what a database might.
func parseCursor(s string) (trace.Place, error) {
	// JSON may lengthen a name sixfold, and base64 adds a third.
	if len(s) > 2*MaxName*8+200 {
		return trace.Place{}, fmt.Errorf("%w: too long", ErrCursor)
	}
	p, err := trace.ParsePlace(s)
	if err != nil || !isText(p.Job) || !isText(p.Run) || !isNumber(p.Item) || !isNumber(p.Attempt) {
		return trace.Place{}, fmt.Errorf("%w: %.40q", ErrCursor, s)
	}
	return p, nil
}

// Jobs returns the names of the jobs that have rows, sorted.
func (r *Reader) Jobs(ctx context.Context) ([]string, error) {
	var jobs []string
	for last := ""; ; {
		// This takes one step in the index per job; DISTINCT would read the whole index.
		var next sql.NullString
		err := r.queryRow(ctx, "SELECT MIN(job) FROM wasmjobd_run WHERE job > ?", last).Scan(&next)
		if err != nil {
			return nil, r.fail("list jobs", err)
		}
		if !next.Valid {
			return jobs, nil
		}
		last = next.String
		jobs = append(jobs, last)
	}
}

// Rows yields the rows of a job that touch (from, to], in the order that trace.Check needs, all
// as of one moment. Texts of guests (result, error, log) are left out. It holds a connection
// until the loop over it ends.
func (r *Reader) Rows(ctx context.Context, job string, from, to int64) iter.Seq2[trace.Row, error] {
	short := withoutLogs(withoutTexts(r.columns))
	return r.scan(ctx, "SELECT "+short+" FROM wasmjobd_run"+
		" WHERE job = ? AND instant_ms <= ? AND (instant_ms > ? OR last_ms > ?)"+
		" ORDER BY instant_ms, item, run, attempt", []any{job, to, from, from})
}

// scan yields the rows of a query that selects the columns of r.columns in their order.
func (r *Reader) scan(ctx context.Context, query string, args []any) iter.Seq2[trace.Row, error] {
	return func(yield func(trace.Row, error) bool) {
		rows, err := r.query(ctx, query, args...)
		if err != nil {
			yield(trace.Row{}, r.fail("read rows", err))
			return
		}
		defer rows.Close()
		for rows.Next() {
			var x trace.Row
			var result []byte
			var metrics, schedule, key, log, param sql.NullString
			var words string
			var code sql.NullInt32
			err := rows.Scan(&x.Job, &x.Item, &x.Run, &x.Attempt, &x.Instant, &x.Last, &x.Count, &x.Cause, &x.State,
				&words, &x.Instance, &x.TaskID, &x.Start, &x.End, &result, &x.Error, &x.Digest, &x.Fence,
				&x.Fuel, &x.Succeeded, &x.Failed, &metrics, &code, &schedule, &key, &log, &param)
			if err != nil {
				yield(trace.Row{}, r.fail("read a row", err))
				return
			}
			x.Result, x.Metrics, x.Code, x.HasCode, x.Schedule, x.Param = string(result), metrics.String, code.Int32, code.Valid, schedule.String, param.String
			x.Reason = reason.Read(key.String, words)
			x.Log, x.HasLog = log.String, log.Valid
			if !yield(x, nil) {
				return
			}
		}
		if err := rows.Err(); err != nil {
			yield(trace.Row{}, r.fail("read rows", err))
		}
	}
}
