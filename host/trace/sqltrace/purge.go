package sqltrace

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
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
	// Now is the moment from which Age counts.
	Now time.Time
	// Job limits the purge to one job; empty is all.
	Job string
}

// purgeChunk is how many rows one transaction deletes: few enough that a
// writer never waits long.
const purgeChunk = 500

// Purge deletes what the retention lets go, oldest first and in small
// transactions, and returns how many rows went, also when it ends early.
//
// What is left of an item has no holes: rows go in the order of their instants.
func (s *Store) Purge(ctx context.Context, keep Retention) (int64, error) {
	var gone int64
	err := s.each(ctx, keep, func(w *conditions) error {
		for {
			n, err := s.purgeSome(ctx, w)
			gone += n
			if err != nil || n < purgeChunk {
				return err
			}
		}
	})
	return gone, err
}

// Expired counts the rows that Purge would delete.
func (r *Reader) Expired(ctx context.Context, keep Retention) (int64, error) {
	var count int64
	err := r.each(ctx, keep, func(w *conditions) error {
		var n int64
		err := r.queryRow(ctx, "SELECT COUNT(*) FROM wasmjobd_run"+w.String(), w.args...).Scan(&n)
		count += n
		return r.fail("count rows", err)
	})
	return count, err
}

// each calls do for every job with the conditions of the rows that may go.
func (r *Reader) each(ctx context.Context, keep Retention, do func(*conditions) error) error {
	if keep.Age < 0 || keep.PerJob < 0 {
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
		w, err := r.expired(ctx, job, keep)
		if err != nil {
			return err
		}
		if w != nil {
			if err := do(w); err != nil {
				return err
			}
		}
	}
	return nil
}

// expired is the condition of a job's rows that may go; nil if none may.
func (r *Reader) expired(ctx context.Context, job string, keep Retention) (*conditions, error) {
	old, args := "", []any{}
	if keep.Age > 0 {
		cutoff := keep.Now.Add(-keep.Age).UnixMilli()
		old, args = "(instant_ms < ? AND last_ms < ?)", append(args, cutoff, cutoff)
	}
	if keep.PerJob > 0 {
		// The oldest row that stays.
		var instant int64
		var item int
		var run string
		err := r.queryRow(ctx, "SELECT instant_ms, item, run FROM wasmjobd_run WHERE job = ?"+
			" ORDER BY instant_ms DESC, item DESC, run DESC, attempt DESC LIMIT 1 OFFSET ?",
			job, keep.PerJob-1).Scan(&instant, &item, &run)
		switch {
		case errors.Is(err, sql.ErrNoRows):
		case err != nil:
			return nil, r.fail("look for old rows", err)
		default:
			if old != "" {
				old += " OR "
			}
			old += "(instant_ms <= ? AND (instant_ms, item, run) < (?, ?, ?))" // the first alone tells MySQL where to begin
			args = append(args, instant, instant, item, run)
		}
	}
	if old == "" {
		return nil, nil
	}
	w := &conditions{}
	w.add("job = ?", job)
	w.add("("+old+")", args...)
	return w, nil
}

// purgeSome deletes a chunk. It looks the rows up first and deletes them by
// key, because a DELETE with a LIMIT is not portable, and because looking needs
// no lock. Rows never change, so what was found may still go.
func (s *Store) purgeSome(ctx context.Context, w *conditions) (int64, error) {
	keys, err := s.oldest(ctx, w)
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

func (s *Store) oldest(ctx context.Context, w *conditions) ([]trace.Row, error) {
	rows, err := s.query(ctx, "SELECT job, item, run, attempt FROM wasmjobd_run"+w.String()+
		" ORDER BY instant_ms, item, run, attempt LIMIT ?", append(slices.Clip(w.args), purgeChunk)...)
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
