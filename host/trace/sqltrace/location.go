package sqltrace

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
)

// Location is where a history is. Its driver is modernc.org/sqlite.
type Location struct{ File string }

// File is the history in the SQLite file at path.
func File(path string) Location {
	if full, err := filepath.Abs(path); err == nil {
		path = full // messages should name it wholly, and a file: URL must
	}
	return Location{path}
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
	if l.File == "" { // SQLite would make a temporary one
		return nil, errors.New("history: its location names no file")
	}
	db, err := sql.Open("sqlite", source)
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
