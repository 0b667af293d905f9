package sqltrace

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/wasmjob/wasmjob/host/trace"
)

// Spool is a Sink for a history on a database server. While the server is unreachable, rows
// wait in a file, which is a history too, because the registry has room for only a few of them.
// When the file is full, rows are refused and the caller keeps them.
type Spool struct {
	to   *Store
	file *Store
	log  *slog.Logger
	// turn holds one token, needed to read or change waiting: a row must not be stored before
	// earlier rows of its run.
	turn    chan struct{}
	waiting atomic.Bool   // the file has rows
	counted atomic.Int64  // how many there were when they were last counted
	wake    chan struct{} // has an element if rows may wait that Deliver has not seen
}

// MaxSpool is the largest size of the file, in bytes: millions of rows.
const MaxSpool = 1 << 30

// OpenSpool opens or creates the file. The caller must run Deliver.
func OpenSpool(ctx context.Context, to *Store, file Location, log *slog.Logger) (*Spool, error) {
	return openSpool(ctx, to, file, log, MaxSpool)
}

// openSpool is OpenSpool with a file of at most most bytes.
func openSpool(ctx context.Context, to *Store, file Location, log *slog.Logger, most int64) (*Spool, error) {
	f, err := Open(ctx, file.bounded(most))
	if err != nil {
		return nil, err
	}
	s := &Spool{to: to, file: f, log: log, turn: make(chan struct{}, 1), wake: make(chan struct{}, 1)}
	s.waiting.Store(true) // there may be rows of an earlier process
	s.wake <- struct{}{}
	return s, nil
}

// Close closes the file. Deliver must have ended.
func (s *Spool) Close() error { return s.file.Close() }

// Waiting counts the rows that are only in the file. If they cannot be counted in time, it returns
// the number of the last time, at least 1, and the error.
func (s *Spool) Waiting(ctx context.Context) (int64, error) {
	if !s.waiting.Load() {
		return 0, nil
	}
	var n int64
	if err := s.file.queryRow(ctx, "SELECT COUNT(*) FROM wasmjobd_run").Scan(&n); err != nil {
		return max(1, s.counted.Load()), s.file.fail("count rows", err)
	}
	s.counted.Store(n)
	return n, nil
}

// Write implements trace.Sink. When it returns nil, the rows are on the disk of the database
// server or of this machine.
func (s *Spool) Write(ctx context.Context, batch []trace.Row) error {
	if err := s.take(ctx); err != nil {
		return err
	}
	defer s.give()
	if s.waiting.Load() {
		return s.keep(ctx, batch)
	}
	err := s.to.Write(ctx, batch)
	if err == nil || errors.Is(err, trace.ErrRow) || ctx.Err() != nil {
		return err
	}
	if also := s.keep(ctx, batch); also != nil {
		return errors.Join(err, also)
	}
	s.waiting.Store(true)
	s.wake <- struct{}{} // does not block: waiting was false, so Deliver has emptied wake
	s.log.Warn("the history is away; rows wait in a file", "file", s.file.place, "error", err)
	return nil
}

// keep writes rows to the file.
func (s *Spool) keep(ctx context.Context, batch []trace.Row) error {
	err := s.file.Write(ctx, batch)
	if codeOf(err) == codeFull {
		return fmt.Errorf("there is no room for waiting rows; make the history reachable, or free disk space: %w", err)
	}
	return err
}

// take takes the token of turn, or fails when ctx ends. give returns it.
func (s *Spool) take(ctx context.Context) error {
	select {
	case s.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("history %s: %w", s.to.place, ctx.Err())
	}
}

func (s *Spool) give() { <-s.turn }

const (
	// deliverRows is how many rows are delivered at once: with their texts, some megabytes.
	deliverRows = 100
	// deliverPause is the time between two attempts.
	deliverPause = 2 * time.Second
)

// Deliver moves waiting rows to the database server until ctx ends.
func (s *Spool) Deliver(ctx context.Context) {
	for {
		select {
		case <-s.wake:
		case <-ctx.Done():
			return
		}
		total, failed := 0, false
		for {
			n, err := s.deliver(ctx)
			total += n
			if err == nil && n == 0 {
				break
			}
			if err == nil {
				continue
			}
			if ctx.Err() != nil {
				return
			}
			if !failed {
				failed = true
				s.log.Warn("rows of the history wait in a file", "file", s.file.place, "error", err)
			}
			again := time.NewTimer(deliverPause)
			select {
			case <-again.C:
			case <-ctx.Done():
				again.Stop()
				return
			}
		}
		if total > 0 {
			s.log.Info("the history has the rows that waited", "rows", total)
		}
	}
}

// deliver moves some rows and returns their number; 0 means that none are left.
func (s *Spool) deliver(ctx context.Context) (int, error) {
	rows, err := s.file.first(ctx, deliverRows)
	if err != nil {
		return 0, err
	}
	if len(rows) > 0 {
		err := s.to.Write(ctx, rows)
		switch {
		case err == nil:
			return len(rows), s.file.forget(ctx, rows)
		case errors.Is(err, errRefused):
			return s.deliverEach(ctx, rows)
		}
		return 0, err
	}
	if err := s.take(ctx); err != nil {
		return 0, err
	}
	defer s.give()
	if rows, err = s.file.first(ctx, 1); err != nil || len(rows) > 0 {
		return len(rows), err // a row came meanwhile, and the next call delivers it
	}
	s.waiting.Store(false)
	return 0, nil
}

// deliverEach moves rows one by one. A row that the database refuses must not keep those that
// follow waiting for ever: the log is then the only place that has it.
func (s *Spool) deliverEach(ctx context.Context, rows []trace.Row) (int, error) {
	for i := range rows {
		one := rows[i : i+1]
		err := s.to.Write(ctx, one)
		if err != nil && !errors.Is(err, errRefused) {
			return i, err
		}
		if err != nil {
			s.log.Error("the history refuses a row permanently", "row", fmt.Sprintf("%+v", rows[i]), "error", err)
		}
		if err := s.file.forget(ctx, one); err != nil {
			return i, err
		}
	}
	return len(rows), nil
}

// first returns the oldest rows with all their columns.
func (r *Reader) first(ctx context.Context, limit int) ([]trace.Row, error) {
	var rows []trace.Row
	for row, err := range r.scan(ctx, "SELECT "+r.columns+" FROM wasmjobd_run ORDER BY instant_ms, job, item, run, attempt LIMIT ?", []any{limit}) {
		if err != nil {
			return nil, err
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// forget deletes rows, except rows whose state has changed since they were read.
func (s *Store) forget(ctx context.Context, rows []trace.Row) error {
	return s.exclusively(ctx, fmt.Sprintf("forget %d rows", len(rows)), func(ctx context.Context, tx *sql.Tx) error {
		del, err := tx.PrepareContext(ctx, s.dialect.bind("DELETE FROM wasmjobd_run WHERE job = ? AND item = ? AND run = ? AND attempt = ? AND state = ?"))
		if err != nil {
			return err
		}
		defer del.Close()
		for i := range rows {
			r := &rows[i]
			if _, err := del.ExecContext(ctx, r.Job, r.Item, r.Run, r.Attempt, string(r.State)); err != nil {
				return err
			}
		}
		return nil
	})
}
