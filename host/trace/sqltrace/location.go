package sqltrace

import (
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/url"
	"path/filepath"
	"strings"
	"time"
)

// Location is where a history is.
type Location struct {
	dialect *dialect
	place   string // what errors call it: no password is in it
	file    string // of SQLite
	writer  string // the data source name of a Store
	reader  string // and that of a Reader
	// ElasticJob lets a Store on a server write the tables of ElasticJob's event trace,
	// too.
	ElasticJob bool
}

// String is the path of the file, or the address without its password.
func (l Location) String() string { return l.place }

// File is the history in the SQLite file at path. Its driver is modernc.org/sqlite.
func File(path string) Location {
	if path == "" { // SQLite would make a temporary one
		return Location{}
	}
	if full, err := filepath.Abs(path); err == nil {
		path = full // messages should name it wholly, and a file: URL must
	}
	return Location{
		dialect: sqlite(), place: path, file: path,
		// Write transactions take the lock when they begin: one that began with a read
		// could find its snapshot outdated and be refused without waiting.
		writer: fileSource(path, "rwc", "_txlock", "immediate"),
		// It does not make the file and cannot change a row.
		reader: fileSource(path, "rw", "_pragma", "query_only(1)"),
	}
}

// lockWait is how long SQLite waits for another process' lock, in milliseconds.
const lockWait = "10000"

// fileSource carries what every connection of the pool needs: patience with other
// processes, and commits that wait for the disk.
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

// bounded is a file that does not grow beyond so many bytes.
func (l Location) bounded(most int64) Location {
	l.writer += "&_pragma=" + url.QueryEscape(fmt.Sprintf("max_page_count(%d)", most/pageBytes))
	return l
}

// MySQLAuthority is the name under which the program gives the driver of MySQL the TLS
// configuration for an address with sslrootcert.
const MySQLAuthority = "wasmjobd-history"

// Address is the history at an address postgres://user@host/database, or
// mysql://user@host/database, which has no password in it. Its drivers are
// github.com/jackc/pgx/v5/stdlib and github.com/go-sql-driver/mysql. Beside it may stand
// sslmode or tls, and sslrootcert: the file with the authority that the certificate must be of.
func Address(dsn, password string) (Location, error) {
	u, err := url.Parse(dsn)
	if err != nil {
		return Location{}, errors.New("history: its address cannot be read") // the error repeats it
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

// mysqlSource is the form that the driver of MySQL takes. It ends at the last / and the
// last @ before that, so a password may have both.
func mysqlSource(u *url.URL, password string) string {
	host := u.Host
	if u.Port() == "" {
		host = net.JoinHostPort(u.Hostname(), "3306")
	}
	q := url.Values{
		"charset": {"utf8mb4"}, "timeout": {"10s"}, "tls": {"preferred"},
		"sql_mode":  {"'STRICT_ALL_TABLES'"}, // nothing is cut in silence
		"time_zone": {"'+00:00'"},            // of what the driver sends
	}
	maps.Copy(q, u.Query())
	if q.Has("sslrootcert") {
		q.Del("sslrootcert")
		q.Set("tls", MySQLAuthority)
	}
	return u.User.Username() + ":" + password + "@tcp(" + host + ")/" + url.PathEscape(strings.TrimPrefix(u.Path, "/")) + "?" + q.Encode()
}

// Bounds of the connections to a server.
const (
	maxConnections = 8
	idleTime       = time.Minute
)

// connect opens the database under source, which may not be there.
func (l Location) connect(source string) (*Reader, error) {
	if l.dialect == nil {
		return nil, errors.New("history: its location names no file")
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
