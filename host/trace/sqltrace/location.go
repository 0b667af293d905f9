package sqltrace

import (
	"context"
	"database/sql"
	"fmt"
	"net/url"
	"path/filepath"
)

// Dialect is the SQL that a database speaks.
type Dialect string

// SQLite is the dialect of a history in one local file. Its driver is
// modernc.org/sqlite.
const SQLite Dialect = "sqlite"

// Location is where a history is.
type Location struct {
	Dialect Dialect
	File    string
}

// File is the history in the SQLite file at path.
func File(path string) Location {
	if full, err := filepath.Abs(path); err == nil {
		path = full // messages should name it wholly, and a file: URL must
	}
	return Location{Dialect: SQLite, File: path}
}

// writer is the data source name of a Store. It makes the file.
//
// Write transactions take the lock when they begin: one that began with a read
// could find its snapshot outdated and be refused without waiting.
func (l Location) writer() string {
	return l.source("rwc", "_txlock", "immediate")
}

// reader is the data source name of a Reader. It does not make the file and
// cannot change a row.
func (l Location) reader() string {
	return l.source("rw", "_pragma", "query_only(1)")
}

// lockWait is how long SQLite waits for another process' lock, in milliseconds.
const lockWait = "10000"

// source carries what every connection of the pool needs: patience with other
// processes, and commits that wait for the disk.
func (l Location) source(mode, key, value string) string {
	q := url.Values{"mode": {mode}}
	q.Add("_pragma", "busy_timeout("+lockWait+")")
	q.Add("_pragma", "synchronous(FULL)")
	q.Add(key, value)
	u := url.URL{Scheme: "file", Path: filepath.ToSlash(l.File), RawQuery: q.Encode()}
	return u.String()
}

// connect opens the database under source and lets ready see to it.
func (l Location) connect(ctx context.Context, source string, ready func(context.Context, *Reader) error) (*Reader, error) {
	if l.Dialect != SQLite {
		return nil, fmt.Errorf("history: SQL dialect %q is not supported", l.Dialect)
	}
	db, err := sql.Open(string(l.Dialect), source)
	if err != nil {
		return nil, fmt.Errorf("open history %s: %w", l.File, err)
	}
	r := &Reader{db: db, place: l.File, columns: columns}
	if err := ready(ctx, r); err != nil {
		_ = db.Close() // the first error says more
		return nil, err
	}
	return r, nil
}
