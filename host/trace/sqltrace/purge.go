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

// Retention says which rows to keep. A zero field keeps all.
type Retention struct {
	// Age is the age beyond which rows are deleted. It counts from the instant, or from the
	// last instant of a gap.
	Age time.Duration
	// PerJob is the number of the newest rows of each job to keep. Attempts of one run stay
	// together, so a few more rows may stay.
	PerJob int
	// Bytes is the size of the newest rows to keep, of all jobs or of Job. It is an estimate of
	// what rows take with their indexes; the database's files may keep their size for a while
	// after rows are deleted.
	Bytes int64
	// Now is the moment from which Age counts.
	Now time.Time
	// Job limits the purge to one job; empty is all.
	Job string
}

// purgeChunk is the number of rows that one transaction deletes, small enough that a writer
// never waits long.
const purgeChunk = 500

// Purge deletes the rows that the retention does not keep, oldest first and in small
// transactions. It returns the number of deleted rows, also if it ends early. If the Store
// writes ElasticJob's tables, its rows there are deleted by Age, too, and not counted.
//
// The remaining rows of an item have no holes, since rows are deleted in the order of their
// instants.
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

// expired selects rows to delete. Its conditions and the method has agree.
type expired struct {
	conditions
	order  string // that an index has
	job    string
	cutoff int64      // rows before it are selected; 0: none
	oldest *trace.Row // rows before this one are selected; nil: none
}

// has reports whether e selects the row; an e that is nil selects none.
func (e *expired) has(r *trace.Row) bool {
	return e != nil && (r.Instant < e.cutoff && r.Last < e.cutoff ||
		e.oldest != nil && cmp.Or(cmp.Compare(r.Instant, e.oldest.Instant), cmp.Compare(r.Item, e.oldest.Item), cmp.Compare(r.Run, e.oldest.Run)) < 0)
}

// each calls do with the expired rows, by age and number, of every job that has any.
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

// expired selects a job's rows to delete by age and number; nil if there are none.
func (r *Reader) expired(ctx context.Context, job string, keep Retention) (*expired, error) {
	e := &expired{job: job, order: "instant_ms, item, run, attempt"}
	var old []string
	var args []any
	if keep.Age > 0 {
		e.cutoff = keep.Now.Add(-keep.Age).UnixMilli()
		old, args = append(old, "(instant_ms < ? AND last_ms < ?)"), append(args, e.cutoff, e.cutoff)
	}
	if keep.PerJob > 0 {
		var o trace.Row // the oldest row to keep
		err := r.queryRow(ctx, "SELECT instant_ms, item, run FROM wasmjobd_run WHERE job = ?"+
			" ORDER BY instant_ms DESC, item DESC, run DESC, attempt DESC LIMIT 1 OFFSET ?",
			job, keep.PerJob-1).Scan(&o.Instant, &o.Item, &o.Run)
		switch {
		case errors.Is(err, sql.ErrNoRows):
		case err != nil:
			return nil, r.fail("look for old rows", err)
		default:
			e.oldest = &o
			old = append(old, "(instant_ms <= ? AND (instant_ms, item, run) < (?, ?, ?))") // this term lets MySQL use the index
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

// purgeSome deletes a chunk. It first looks up the rows and then deletes them by key, because
// DELETE with LIMIT is not portable, and looking needs no lock. What is found may be deleted
// later, as rows become no younger: only the state of a row taken_over may still change.
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

// oldest returns the keys of the first rows, in order, that old selects: at most a chunk.
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
