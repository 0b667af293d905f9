package sqltrace

import (
	"context"
	"database/sql"
	"embed"
	"fmt"
	"strings"
	"time"
)

//go:embed migrations/*.sql
var migrations embed.FS

// steps are the files that lead from each version to the next.
func steps() []string {
	return []string{"0001_run.sql", "0002_cost.sql", "0003_code.sql"}
}

// latest is the version of the tables that this program reads and writes.
const latest = 3

// version is 0 for a database without our tables.
func (r *Reader) version(ctx context.Context) (int, error) {
	var v sql.NullInt64
	err := r.db.QueryRowContext(ctx, "SELECT MAX(version) FROM wasmjobd_schema").Scan(&v)
	return int(v.Int64), err
}

func (r *Reader) migrate(ctx context.Context) error {
	const table = "CREATE TABLE IF NOT EXISTS wasmjobd_schema (version INTEGER NOT NULL PRIMARY KEY, applied_ms BIGINT NOT NULL)"
	if _, err := r.db.ExecContext(ctx, table); err != nil {
		return r.fail("make its tables", err)
	}
	for {
		version, err := r.version(ctx)
		switch {
		case err != nil:
			return r.fail("read its version", err)
		case version > latest:
			return fmt.Errorf("%w: %s has version %d, this program knows %d; install the newer program again",
				ErrVersion, r.place, version, latest)
		case version == latest:
			return r.widen(ctx)
		}
		if err := r.step(ctx, version); err != nil {
			// Another process may have made the same step meanwhile.
			if now, again := r.version(ctx); again != nil || now <= version {
				return err
			}
		}
	}
}

// step leads from version to the next one, wholly or not at all.
func (r *Reader) step(ctx context.Context, version int) error {
	name := steps()[version]
	text, err := migrations.ReadFile("migrations/" + name)
	if err != nil {
		return fmt.Errorf("read migration: %w", err)
	}
	return r.transact(ctx, "update its tables with "+name, func(tx *sql.Tx) error {
		// First of all, so that a second process fails here and not half-way.
		_, err := tx.ExecContext(ctx, "INSERT INTO wasmjobd_schema (version, applied_ms) VALUES (?, ?)", version+1, time.Now().UnixMilli())
		for _, statement := range statements(string(text)) {
			if err != nil {
				break
			}
			_, err = tx.ExecContext(ctx, statement)
		}
		return err
	})
}

// widen adds the columns that need no new version: the cron expression from which a
// row's instants come, the code of its reason, and the end of the guest's log. They
// are NULL where there is no value, or an older server wrote the row.
func (r *Reader) widen(ctx context.Context) error {
	for name := range strings.SplitSeq(added, ", ") {
		has, err := r.has(ctx, name)
		if err != nil {
			return err
		}
		if has {
			continue
		}
		if _, err := r.db.ExecContext(ctx, "ALTER TABLE wasmjobd_run ADD COLUMN "+name+" TEXT"); err != nil {
			if has, again := r.has(ctx, name); again == nil && has { // another process was quicker
				continue
			}
			return r.fail("add a column to its tables", err)
		}
	}
	return nil
}

// has reports whether the table of rows has one of the columns in added.
func (r *Reader) has(ctx context.Context, column string) (bool, error) {
	var n int
	err := r.db.QueryRowContext(ctx, "SELECT COUNT("+column+") FROM wasmjobd_run WHERE 0 = 1").Scan(&n)
	switch {
	case codeOf(err) == codeSQL: // the column is missing
		return false, nil
	case err != nil:
		return false, r.fail("look at its columns", err)
	}
	return true, nil
}

// statements splits a migration; not every driver accepts several statements at
// once.
func statements(text string) []string {
	text = strings.ReplaceAll(text, "{bytes}", "BLOB")
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
