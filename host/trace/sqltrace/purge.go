package sqltrace

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/wasmjob/wasmjob/host/trace"
)

// Retention says what may go. A zero field keeps everything.
type Retention struct {
	// Age is the age from which rows are deleted: that of their instant, or of the
	// last instant of a gap.
	Age time.Duration
	// PerJob lets all but the newest rows of each job go. Attempts of one run
	// stay together, so a few more may stay.
	PerJob int
	// Bytes lets the oldest rows go once those that are newer have so many bytes, of
	// all jobs or of Job. It counts what a row takes with its indexes, about: the files of a
	// server keep their size for a while after rows went.
	Bytes int64
	// Now is the moment from which Age counts.
	Now time.Time
	// Job limits the purge to one job; empty is all.
	Job string
}

// purgeChunk is how many rows one transaction deletes: few enough that a
// writer never waits long.
const purgeChunk = 500

// Purge deletes what the retention lets go, oldest first and in small
// transactions, and returns how many rows went, also when it ends early. Where the Store
// writes ElasticJob's tables, its rows there go by Age, too, and are not counted.
//
// What is left of an item has no holes: rows go in the order of their instants.
func (s *Store) Purge(ctx context.Context, keep Retention) (int64, error) {
	var gone int64
	purge := func(old *expired) error {
		for {
			n, err := s.purgeSome(ctx, old)
			gone += n
			if err != nil || n < purgeChunk {
				return err
			}
		}
	}
	if err := s.each(ctx, keep, purge); err != nil {
		return gone, err
	}
	if old, _, err := s.overflow(ctx, keep, nil); err != nil {
		return gone, err
	} else if old != nil {
		if err := purge(old); err != nil {
			return gone, err
		}
	}
	return gone, s.purgeElasticJob(ctx, keep)
}

// Expired counts the rows that Purge would delete.
func (r *Reader) Expired(ctx context.Context, keep Retention) (int64, error) {
	var count int64
	others := map[string]*expired{} // by job
	err := r.each(ctx, keep, func(old *expired) error {
		others[old.job] = old
		var n int64
		err := r.queryRow(ctx, "SELECT COUNT(*) FROM wasmjobd_run"+old.String(), old.args...).Scan(&n)
		count += n
		return r.fail("count rows", err)
	})
	if err != nil {
		return 0, err
	}
	_, more, err := r.overflow(ctx, keep, func(k *trace.Row) bool { return others[k.Job].has(k) })
	return count + more, err
}

// expired are rows that may go. Its conditions are those of has.
type expired struct {
	conditions
	order  string // that of an index
	job    string
	cutoff int64      // rows before it, 0 is none
	oldest *trace.Row // rows before this one; nil is none
}

func (e *expired) has(r *trace.Row) bool {
	return e != nil && (r.Instant < e.cutoff && r.Last < e.cutoff ||
		e.oldest != nil && cmp.Or(cmp.Compare(r.Instant, e.oldest.Instant), cmp.Compare(r.Item, e.oldest.Item), cmp.Compare(r.Run, e.oldest.Run)) < 0)
}

// each calls do for every job with the rows that may go by age and number.
func (r *Reader) each(ctx context.Context, keep Retention, do func(*expired) error) error {
	if keep.Age < 0 || keep.PerJob < 0 || keep.Bytes < 0 {
		return errors.New("purge history: negative retention")
	}
	if keep.Age == 0 && keep.PerJob == 0 {
		return nil
	}
	jobs := []string{keep.Job}
	if keep.Job == "" {
		var err error
		if jobs, err = r.Jobs(ctx); err != nil {
			return err
		}
	}
	for _, job := range jobs {
		old, err := r.expired(ctx, job, keep)
		if err != nil {
			return err
		}
		if old != nil {
			if err := do(old); err != nil {
				return err
			}
		}
	}
	return nil
}

// expired are a job's rows that may go by age and number; nil if none may.
func (r *Reader) expired(ctx context.Context, job string, keep Retention) (*expired, error) {
	e := &expired{job: job, order: "instant_ms, item, run, attempt"}
	var old []string
	var args []any
	if keep.Age > 0 {
		e.cutoff = keep.Now.Add(-keep.Age).UnixMilli()
		old, args = append(old, "(instant_ms < ? AND last_ms < ?)"), append(args, e.cutoff, e.cutoff)
	}
	if keep.PerJob > 0 {
		var o trace.Row // the oldest row that stays
		err := r.queryRow(ctx, "SELECT instant_ms, item, run FROM wasmjobd_run WHERE job = ?"+
			" ORDER BY instant_ms DESC, item DESC, run DESC, attempt DESC LIMIT 1 OFFSET ?",
			job, keep.PerJob-1).Scan(&o.Instant, &o.Item, &o.Run)
		switch {
		case errors.Is(err, sql.ErrNoRows):
		case err != nil:
			return nil, r.fail("look for old rows", err)
		default:
			e.oldest = &o
			old = append(old, "(instant_ms <= ? AND (instant_ms, item, run) < (?, ?, ?))") // the first alone tells MySQL where to begin
			args = append(args, o.Instant, o.Instant, o.Item, o.Run)
		}
	}
	if len(old) == 0 {
		return nil, nil
	}
	e.add("job = ?", job)
	e.add("("+strings.Join(old, " OR ")+")", args...)
	return e, nil
}

// purgeSome deletes a chunk. It looks the rows up first and deletes them by
// key, because a DELETE with a LIMIT is not portable, and because looking needs
// no lock. Rows never change, so what was found may still go.
func (s *Store) purgeSome(ctx context.Context, old *expired) (int64, error) {
	keys, err := s.oldest(ctx, old)
	if err != nil || len(keys) == 0 {
		return 0, err
	}
	err = s.exclusively(ctx, fmt.Sprintf("purge %d rows", len(keys)), func(ctx context.Context, tx *sql.Tx) error {
		del, err := tx.PrepareContext(ctx, s.dialect.bind("DELETE FROM wasmjobd_run WHERE job = ? AND item = ? AND run = ? AND attempt = ?"))
		if err != nil {
			return err
		}
		defer del.Close()
		for _, k := range keys {
			if _, err := del.ExecContext(ctx, k.Job, k.Item, k.Run, k.Attempt); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	return int64(len(keys)), nil
}

func (s *Store) oldest(ctx context.Context, old *expired) ([]trace.Row, error) {
	rows, err := s.query(ctx, "SELECT job, item, run, attempt FROM wasmjobd_run"+old.String()+
		" ORDER BY "+old.order+" LIMIT ?", append(slices.Clip(old.args), purgeChunk)...)
	if err != nil {
		return nil, s.fail("look for old rows", err)
	}
	defer rows.Close()
	keys := make([]trace.Row, 0, purgeChunk)
	for rows.Next() {
		var k trace.Row
		if err := rows.Scan(&k.Job, &k.Item, &k.Run, &k.Attempt); err != nil {
			return nil, s.fail("look for old rows", err)
		}
		keys = append(keys, k)
	}
	return keys, s.fail("look for old rows", rows.Err())
}
