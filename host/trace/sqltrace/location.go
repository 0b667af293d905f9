package sqltrace

import (
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/url"
	"path/filepath"
	"strings"
	"time"
)

// Location says where a history is.
type Location struct {
	dialect *dialect
	place   string // for errors, without a password
	file    string // for SQLite
	writer  string // data source name for a Store
	reader  string // data source name for a Reader
	// ElasticJob makes a Store on a database server also write the tables of ElasticJob's event
	// trace.
	ElasticJob bool
	// Log receives what a Store cannot do to the tables of ElasticJob; nil discards it.
	Log *slog.Logger
}

// String returns the path of the file, or the address without its password.
func (l Location) String() string { return l.place }

// File returns the location of the SQLite file at path. Its driver is modernc.org/sqlite.
func File(path string) Location {
	if path == "" { // SQLite would create a temporary file
		return Location{}
	}
	if full, err := filepath.Abs(path); err == nil {
		path = full // for messages and for the file: URL
	}
	return Location{
		dialect: sqlite(), place: path, file: path,
		// Write transactions lock at the beginning. A transaction that begins with a read could
		// find its snapshot outdated, and be refused without waiting.
		writer: fileSource(path, "rwc", "_txlock", "immediate"),
		// A Reader creates no file and cannot change a row.
		reader: fileSource(path, "rw", "_pragma", "query_only(1)"),
	}
}

// lockWait is how long SQLite waits for another process's lock, in milliseconds.
const lockWait = "10000"

// fileSource returns a data source name with settings for every connection of the pool: it
// waits for other processes, and commits wait for the disk.
func fileSource(path, mode, key, value string) string {
	q := url.Values{"mode": {mode}}
	q.Add("_pragma", "busy_timeout("+lockWait+")")
	q.Add("_pragma", "synchronous(FULL)")
	q.Add(key, value)
	u := url.URL{Scheme: "file", Path: filepath.ToSlash(path), RawQuery: q.Encode()}
	return u.String()
}

// pageBytes is the size of SQLite's pages.
const pageBytes = 4096

// bounded limits the file to a number of bytes.
func (l Location) bounded(most int64) Location {
	l.writer += "&_pragma=" + url.QueryEscape(fmt.Sprintf("max_page_count(%d)", most/pageBytes))
	return l
}

// MySQLAuthority is the name under which the program registers the TLS configuration with
// MySQL's driver for an address with sslrootcert.
const MySQLAuthority = "wasmjobd-history"

// Address returns the location for an address postgres://user@host/database or
// mysql://user@host/database, which contains no password. The drivers are
// github.com/jackc/pgx/v5/stdlib and github.com/go-sql-driver/mysql. The address may have the
// options sslmode or tls, and sslrootcert: the file with the authority for the server's
// certificate.
func Address(dsn, password string) (Location, error) {
	u, err := url.Parse(dsn)
	if err != nil {
		return Location{}, errors.New("history: its address cannot be read") // the error would repeat the address
	}
	l := Location{place: u.Redacted()}
	if password != "" {
		u.User = url.UserPassword(u.User.Username(), password)
	}
	switch u.Scheme {
	case "postgres", "postgresql":
		q := u.Query()
		if !q.Has("connect_timeout") {
			q.Set("connect_timeout", "10")
		}
		u.RawQuery = q.Encode()
		l.dialect, l.writer = postgres(), u.String()
	case "mysql":
		l.dialect, l.writer = mysql(), mysqlSource(u, password)
	default:
		return Location{}, fmt.Errorf("history: %q is not a kind of database", u.Scheme)
	}
	l.reader = l.writer
	return l, nil
}

// mysqlSource returns the data source name for MySQL's driver. The driver splits it at the last
// / and the last @ before that, so a password may contain both.
func mysqlSource(u *url.URL, password string) string {
	host := u.Host
	if u.Port() == "" {
		host = net.JoinHostPort(u.Hostname(), "3306")
	}
	q := url.Values{
		"charset": {"utf8mb4"}, "timeout": {"10s"}, "tls": {"preferred"},
		"sql_mode":  {"'STRICT_ALL_TABLES'"}, // longer texts are an error, not cut
		"time_zone": {"'+00:00'"},            // of the times that the driver sends
	}
	maps.Copy(q, u.Query())
	if q.Has("sslrootcert") {
		q.Del("sslrootcert")
		q.Set("tls", MySQLAuthority)
	}
	return u.User.Username() + ":" + password + "@tcp(" + host + ")/" + url.PathEscape(strings.TrimPrefix(u.Path, "/")) + "?" + q.Encode()
}

// Bounds on connections to a server.
const (
	maxConnections = 8
	idleTime       = time.Minute
)

// connect prepares the database at source; it may be unreachable.
func (l Location) connect(source string) (*Reader, error) {
	if l.dialect == nil {
		return nil, errors.New("history: its location has no file")
	}
	db, err := sql.Open(l.dialect.driver, source)
	if err != nil {
		return nil, fmt.Errorf("open history %s: %w", l.place, err)
	}
	if l.file == "" {
		db.SetMaxOpenConns(maxConnections)
		db.SetConnMaxIdleTime(idleTime)
	}
	return &Reader{db: db, dialect: l.dialect, place: l.place, file: l.file, columns: columns}, nil
}
