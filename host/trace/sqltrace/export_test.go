package sqltrace

import (
	"context"
	"database/sql"
	"log/slog"
	"time"
)

// DB opens the database of a history, for tests that change it directly.
func (l Location) DB() (*sql.DB, error) { return sql.Open(l.dialect.driver, l.writer) }

// Hasty shortens the time after which a Store gives up on a server.
func (s *Store) Hasty(patience time.Duration) { s.patience = patience }

// OpenSmallSpool is OpenSpool with a limit for the file, in bytes.
func OpenSmallSpool(ctx context.Context, to *Store, file Location, log *slog.Logger, most int64) (*Spool, error) {
	return openSpool(ctx, to, file, log, most)
}

// Plan returns how SQLite finds the rows of a page.
func (r *Reader) Plan(ctx context.Context, f Filter) (steps []string, err error) {
	query, args, err := r.spell(f, 1)
	if err != nil {
		return nil, err
	}
	rows, err := r.query(ctx, "EXPLAIN QUERY PLAN "+query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var id, parent, unused int
		var step string
		if err := rows.Scan(&id, &parent, &unused, &step); err != nil {
			return nil, err
		}
		steps = append(steps, step)
	}
	return steps, rows.Err()
}

// RefusesRow reports whether an error of a database is about what is in a row.
func RefusesRow(err error) bool { return refusesRow(err) }

// MayPass reports whether an error of a database is about its state.
func MayPass(err error) bool { return mayPass(err) }

// Lock takes the right to change tables.
func (r *Reader) Lock(ctx context.Context) (unlock func(), err error) { return r.lock(ctx) }
