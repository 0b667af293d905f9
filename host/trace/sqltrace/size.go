package sqltrace

import (
	"context"
	"fmt"
	"iter"
	"strings"

	"github.com/wasmjob/wasmjob/host/trace"
)

// walkRows is the number of rows read at a time, so that no query lasts long.
const walkRows = 1000

// Estimates of what a row takes besides its texts: numbers and short words in the table and
// indexes. Names are in the table and in six indexes.
const (
	rowBytes   = 300
	nameCopies = 7
)

// sized are the columns with possibly long texts.
const sized = "reason, instance, task_id, result, error, digest, metrics, schedule, reason_code, param, " + guestLog

// overflow adds up the sizes of rows, newest first, and selects those that do not fit into
// keep.Bytes; nil if all fit. If goes is set, overflow skips rows for which it returns true,
// because they are deleted anyway, and only counts the others that do not fit.
func (r *Reader) overflow(ctx context.Context, keep Retention, goes func(*trace.Row) bool) (old *expired, count int64, err error) {
	if keep.Bytes == 0 {
		return nil, 0, nil
	}
	var total int64
	var cut *trace.Row // the first run that does not fit; its attempts stay together
	for row, bytes := range r.walk(ctx, keep.Job, &err) {
		switch {
		case goes != nil && goes(row):
		case cut == nil:
			if total += bytes; total > keep.Bytes {
				cut = row
			}
		case row.Instant == cut.Instant && row.Job == cut.Job && row.Item == cut.Item && row.Run == cut.Run:
		case goes == nil:
			return olderThan(cut, keep.Job), 0, nil
		default:
			count++
		}
	}
	return nil, count, err
}

// olderThan selects the rows before cut in the order of instants, of one job or, if job is
// empty, of all.
func olderThan(cut *trace.Row, job string) *expired {
	old := &expired{order: "instant_ms, job, item, run, attempt"}
	old.add("instant_ms <= ?", cut.Instant) // this term lets MySQL use the index
	if job == "" {
		old.add("(instant_ms, job, item, run) < (?, ?, ?, ?)", cut.Instant, cut.Job, cut.Item, cut.Run)
		return old
	}
	old.order = "instant_ms, item, run, attempt"
	old.add("job = ?", job)
	old.add("(instant_ms, item, run) < (?, ?, ?)", cut.Instant, cut.Item, cut.Run)
	return old
}

// walk yields the rows of a job, or of all jobs, newest first, with the size of each. After an
// error, which it stores in failed, it ends early.
func (r *Reader) walk(ctx context.Context, job string, failed *error) iter.Seq2[*trace.Row, int64] {
	return func(yield func(*trace.Row, int64) bool) {
		for f := (Filter{Job: job}); ; {
			rows, bytes, err := r.sizes(ctx, f)
			if err != nil {
				*failed = err
				return
			}
			for i := range rows {
				if !yield(&rows[i], bytes[i]) {
					return
				}
			}
			if len(rows) < walkRows {
				return
			}
			f.Cursor = After(&rows[walkRows-1])
		}
	}
}

// sizes returns up to walkRows rows, with only the columns that order them, and about how many
// bytes each takes in the database.
func (r *Reader) sizes(ctx context.Context, f Filter) (rows []trace.Row, bytes []int64, err error) {
	w, err := f.where()
	if err != nil {
		return nil, nil, err
	}
	var texts []string
	for name := range strings.SplitSeq(sized, ", ") {
		if strings.Contains(r.columns, name) { // otherwise this table does not have the column
			texts = append(texts, "COALESCE(OCTET_LENGTH("+name+"), 0)")
		}
	}
	found, err := r.query(ctx, fmt.Sprintf("SELECT job, item, run, attempt, instant_ms, last_ms, %s FROM wasmjobd_run%s%s LIMIT %d",
		strings.Join(texts, " + "), w, f.order(), walkRows), w.args...)
	if err != nil {
		return nil, nil, r.fail("look at the size of rows", err)
	}
	defer found.Close()
	for found.Next() {
		var x trace.Row
		var n int64
		if err := found.Scan(&x.Job, &x.Item, &x.Run, &x.Attempt, &x.Instant, &x.Last, &n); err != nil {
			return nil, nil, r.fail("look at the size of rows", err)
		}
		rows, bytes = append(rows, x), append(bytes, n+rowBytes+nameCopies*int64(len(x.Job)+len(x.Run)))
	}
	return rows, bytes, r.fail("look at the size of rows", found.Err())
}
