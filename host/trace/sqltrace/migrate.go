package sqltrace

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"embed"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

//go:embed migrations/*.sql
var migrations embed.FS

// steps returns the files that migrate each version to the next.
func steps() []string {
	return []string{"0001_run.sql", "0002_cost.sql", "0003_code.sql"}
}

// latest is the version of the tables that this program reads and writes.
const latest = 3

// version returns the version of the tables, 0 if the database has none.
func (r *Reader) version(ctx context.Context) (int, error) {
	has, err := r.columnsOf(ctx, "wasmjobd_schema")
	if err != nil || len(has) == 0 {
		return 0, err
	}
	var v sql.NullInt64
	err = r.queryRow(ctx, "SELECT MAX(version) FROM wasmjobd_schema").Scan(&v)
	return int(v.Int64), r.fail("read its version", err)
}

// columnsOf returns the columns of a table, none if the table does not exist.
func (r *Reader) columnsOf(ctx context.Context, table string) ([]string, error) {
	rows, err := r.query(ctx, r.dialect.columns, table)
	if err != nil {
		return nil, r.fail("look at its columns", err)
	}
	defer rows.Close()
	var names []string
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return nil, r.fail("look at its columns", err)
		}
		names = append(names, name)
	}
	return names, r.fail("look at its columns", rows.Err())
}

// migrate brings the tables up to date. If several servers start together, one of them does it.
func (s *Store) migrate(ctx context.Context) error {
	unlock, err := s.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	if s.elasticJob {
		if err := s.makeElasticJob(ctx); err != nil {
			return err
		}
	}
	const table = "CREATE TABLE IF NOT EXISTS wasmjobd_schema (version INTEGER NOT NULL PRIMARY KEY, applied_ms BIGINT NOT NULL)"
	if has, err := s.columnsOf(ctx, "wasmjobd_schema"); err != nil {
		return err
	} else if len(has) == 0 { // a user without the right to create tables can use an existing one
		if _, err := s.db.ExecContext(ctx, table); err != nil {
			return s.fail("create its tables", err)
		}
	}
	for {
		version, err := s.version(ctx)
		switch {
		case err != nil:
			return err
		case version > latest:
			return fmt.Errorf("%w: %s has version %d, this program knows %d; install the newer program again",
				ErrVersion, s.place, version, latest)
		case version == latest:
			return s.widen(ctx)
		}
		if err := s.step(ctx, version); err != nil {
			// Without a lock, another process may have made the same step meanwhile.
			if now, again := s.version(ctx); again != nil || now <= version {
				return err
			}
		}
	}
}

const (
	// lockTime is how long another server may take to bring the tables up to date.
	lockTime = time.Minute
	// unlockTime is how long the database may take to release the lock.
	unlockTime = 5 * time.Second
)

// lock waits for the right to change tables. If the server dies, the database releases the
// lock.
func (r *Reader) lock(ctx context.Context) (unlock func(), err error) {
	if r.dialect.lock == "" {
		return func() {}, nil
	}
	within, cancel := context.WithTimeout(ctx, lockTime)
	defer cancel()
	conn, err := r.db.Conn(within)
	if err != nil {
		return nil, r.fail("connect", err)
	}
	var got sql.NullInt64
	if err := conn.QueryRowContext(within, r.dialect.lock).Scan(&got); err != nil || got.Int64 != 1 {
		_ = conn.Close() // the first error says more
		if err == nil {
			err = errors.New("another server holds the lock")
		}
		return nil, r.fail("lock its tables", err)
	}
	return func() {
		// Also when the caller has given up: a connection in the pool would keep the lock.
		within, cancel := context.WithTimeout(context.WithoutCancel(ctx), unlockTime)
		defer cancel()
		if _, err := conn.ExecContext(within, r.dialect.unlock); err != nil {
			_ = conn.Raw(func(any) error { return driver.ErrBadConn }) // the end of the connection unlocks
		}
		_ = conn.Close()
	}, nil
}

// step migrates from version to the next one, completely or not at all. In a database that
// cannot roll back such changes, the next attempt skips what exists.
func (r *Reader) step(ctx context.Context, version int) error {
	name := steps()[version]
	text, err := migrations.ReadFile("migrations/" + name)
	if err != nil {
		return fmt.Errorf("read migration: %w", err)
	}
	return r.transact(ctx, "update its tables with "+name, func(tx *sql.Tx) error {
		for _, statement := range statements(r.dialect.spell(string(text))) {
			if _, err := tx.ExecContext(ctx, statement); err != nil && !r.dialect.wasMade(err) {
				return err
			}
		}
		_, err := tx.ExecContext(ctx, r.dialect.bind("INSERT INTO wasmjobd_schema (version, applied_ms) VALUES (?, ?)"), version+1, time.Now().UnixMilli())
		return err
	})
}

// widen adds columns and indexes that need no new version. Columns are NULL if there is no
// value, or an older server wrote the row.
func (r *Reader) widen(ctx context.Context) error {
	has, err := r.columnsOf(ctx, "wasmjobd_run")
	if err != nil {
		return err
	}
	for name := range strings.SplitSeq(added, ", ") {
		if slices.Contains(has, name) {
			continue
		}
		if _, err := r.db.ExecContext(ctx, "ALTER TABLE wasmjobd_run ADD COLUMN "+name+" TEXT"); err != nil {
			if has, again := r.columnsOf(ctx, "wasmjobd_run"); again == nil && slices.Contains(has, name) { // another process was quicker
				continue
			}
			return r.fail("add a column to its tables", err)
		}
	}
	for _, index := range [][2]string{
		{"wasmjobd_run_job_state", "(job, state, instant_ms, item, run, attempt)"},
		{"wasmjobd_run_job_item", "(job, item, instant_ms, run, attempt)"},
		{"wasmjobd_run_cause", "(cause, instant_ms, job, item, run, attempt)"},
		{"wasmjobd_run_job_cause", "(job, cause, instant_ms, item, run, attempt)"},
	} {
		if err := r.makeIndex(ctx, index[0], "wasmjobd_run", index[1]); err != nil {
			return err
		}
	}
	return nil
}

// makeIndex creates an index of columns of a table unless it exists. It looks first, because databases refuse even
// CREATE INDEX IF NOT EXISTS to a user who may only read and write the table.
func (r *Reader) makeIndex(ctx context.Context, name, table, columns string) error {
	var has int
	if err := r.queryRow(ctx, r.dialect.indexes, name, table).Scan(&has); err != nil {
		return r.fail("look at its indexes", err)
	}
	if has > 0 {
		return nil
	}
	if _, err := r.db.ExecContext(ctx, r.dialect.index+" "+name+" ON "+table+" "+columns); err != nil && !r.dialect.wasMade(err) {
		return r.fail("add the index "+name, err)
	}
	return nil
}

// statements splits a migration, because not every driver accepts several statements at once.
func statements(text string) []string {
	var out []string
	for part := range strings.SplitSeq(text, ";\n") {
		var lines []string
		for line := range strings.SplitSeq(part, "\n") {
			if line != "" && !strings.HasPrefix(line, "--") {
				lines = append(lines, line)
			}
		}
		if len(lines) > 0 {
			out = append(out, strings.Join(lines, "\n"))
		}
	}
	return out
}
