// Package sqltrace stores rows of package trace in an SQL database: it is the durable Sink, and
// answers queries of the history. It is the only importer of database/sql, and imports no
// driver: the program links one. It decides nothing about runs.
//
// Flow: File or Address returns the location of the history; Open brings its tables up to date
// and returns the Store that serve writes to; OpenReader returns a Reader of the same database
// for other programs.
package sqltrace

import (
	"context"
	"crypto/tls"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"slices"
	"strings"
	"time"
)

var (
	// ErrDamaged: the database file is no database, or its content is damaged.
	ErrDamaged = errors.New("history is damaged")
	// ErrVersion: the version of the tables differs from this program's.
	ErrVersion = errors.New("history has tables of another version")
	// ErrCursor: the cursor does not come from Query.
	ErrCursor = errors.New("not a cursor of history")
)

// Reader reads a history. It is safe for concurrent use, also while other processes write.
type Reader struct {
	db      *sql.DB
	dialect *dialect
	place   string // for errors
	file    string // for SQLite
	columns string // to read rows from
}

// query runs a query whose parameters are question marks, in the database's form.
func (r *Reader) query(ctx context.Context, statement string, args ...any) (*sql.Rows, error) {
	return r.db.QueryContext(ctx, r.dialect.bind(statement), args...)
}

// queryRow is query for a single row.
func (r *Reader) queryRow(ctx context.Context, statement string, args ...any) *sql.Row {
	return r.db.QueryRowContext(ctx, r.dialect.bind(statement), args...)
}

// OpenReader opens the history for reading. It must exist, in the version of this program.
func OpenReader(ctx context.Context, at Location) (*Reader, error) {
	r, err := at.connect(at.reader)
	if err != nil {
		return nil, err
	}
	if err := r.suits(ctx); err != nil {
		_ = r.Close() // the first error says more
		return nil, err
	}
	return r, nil
}

// suits refuses tables of another version, and drops columns that do not exist from those to be
// read.
func (r *Reader) suits(ctx context.Context) error {
	version, err := r.version(ctx)
	switch {
	case err != nil:
		return err
	case version == 0:
		return fmt.Errorf("%w: %s has none; serve creates them", ErrVersion, r.place)
	case version != latest:
		return fmt.Errorf("%w: %s has version %d, this program reads %d; use the program that serve runs",
			ErrVersion, r.place, version, latest)
	}
	has, err := r.columnsOf(ctx, "wasmjobd_run")
	if err != nil {
		return err
	}
	for name := range strings.SplitSeq(added, ", ") {
		if !slices.Contains(has, name) { // no program that knows the column has written yet
			r.columns = strings.Replace(r.columns, name, "NULL", 1)
		}
	}
	return nil
}

// Place returns the path of the file, or the address without its password.
func (r *Reader) Place() string { return r.place }

// Close releases the database. Loops over Rows must have ended.
func (r *Reader) Close() error {
	return r.fail("close it", r.db.Close())
}

// Store writes a history and reads it. It is safe for concurrent use.
type Store struct {
	*Reader
	elasticJob bool // see Location
	log        *slog.Logger
	// writing holds one token: SQLite allows one writer. Unlike the database's own queue, this
	// one is fair and ends with a context.
	writing chan struct{}
	ready   bool // the tables are up to date; guarded by the token of writing
	// patience is serverTime except in tests.
	patience time.Duration
}

// makeFile creates the file for its owner alone, while SQLite would let everybody read it; the
// log beside it takes its mode. It opens no file that exists, as closing that would drop this
// process's locks on it. If it fails, SQLite says why.
func (r *Reader) makeFile() {
	if f, err := os.OpenFile(r.file, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600); err == nil {
		_ = f.Close() // nothing was written
	}
}

// writeAhead switches the database to a write-ahead log. If several connections try at once,
// all but one are refused immediately; they try again and find it switched.
func (r *Reader) writeAhead(ctx context.Context) (mode string, err error) {
	for range switchTries {
		if err = r.db.QueryRowContext(ctx, "PRAGMA journal_mode=WAL").Scan(&mode); err == nil {
			return mode, nil
		}
		select {
		case <-ctx.Done():
			return "", err
		case <-time.After(switchPause):
		}
	}
	return "", err
}

const (
	switchTries = 20
	switchPause = 50 * time.Millisecond
)

// Open opens the history for writing, and creates it or brings its tables up to date. It
// refuses tables of a newer program.
func Open(ctx context.Context, at Location) (*Store, error) {
	s, err := Later(at)
	if err != nil {
		return nil, err
	}
	if err := s.Ready(ctx); err != nil {
		_ = s.Close() // the first error says more
		return nil, err
	}
	return s, nil
}

// Later returns a Store for a database that may be unreachable. Ready or, without it, the first
// Write does the rest of Open. Until then it has no rows.
func Later(at Location) (*Store, error) {
	r, err := at.connect(at.writer)
	if err != nil {
		return nil, err
	}
	log := at.Log
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &Store{Reader: r, elasticJob: at.ElasticJob && at.file == "", log: log, writing: make(chan struct{}, 1), patience: serverTime}, nil
}

// Ready brings the tables up to date unless they are.
func (s *Store) Ready(ctx context.Context) error {
	return s.alone(ctx, "create its tables", func() error { return nil })
}

// alone calls do, one call at a time in this process, once the tables are up to date.
func (s *Store) alone(ctx context.Context, what string, do func() error) error {
	var late <-chan time.Time
	if s.file == "" { // the holder of the token may be waiting for a frozen server
		limit := time.NewTimer(s.patience)
		defer limit.Stop()
		late = limit.C
	}
	select {
	case s.writing <- struct{}{}:
	case <-late:
		return fmt.Errorf("history %s: %s: the previous request got no answer for %s", s.place, what, s.patience)
	case <-ctx.Done():
		return fmt.Errorf("history %s: %s: %w", s.place, what, ctx.Err())
	}
	defer func() { <-s.writing }()
	if !s.ready {
		if s.file != "" {
			s.makeFile()
			mode, err := s.writeAhead(ctx)
			if err != nil {
				return s.fail("switch to a write-ahead log", err)
			}
			if mode != "wal" {
				return fmt.Errorf("history %s: no write-ahead log here (journal mode %s); put it on a local disk", s.place, mode)
			}
		}
		if err := s.migrate(ctx); err != nil {
			return err
		}
		s.ready = true
	}
	return do()
}

// serverTime bounds a transaction on a server. Otherwise the wait for a silent server would
// last as long as the operating system allows.
const serverTime = 30 * time.Second

// exclusively runs do in one transaction, one at a time in this process.
func (s *Store) exclusively(ctx context.Context, what string, do func(context.Context, *sql.Tx) error) error {
	return s.alone(ctx, what, func() error {
		if s.file != "" { // no limit: a file waits only for the disk
			return s.transact(ctx, what, func(tx *sql.Tx) error { return do(ctx, tx) })
		}
		within, cancel := context.WithTimeout(ctx, s.patience)
		defer cancel()
		return s.transact(within, what, func(tx *sql.Tx) error { return do(within, tx) })
	})
}

// transact runs do in one transaction, which an error of do rolls back.
func (r *Reader) transact(ctx context.Context, what string, do func(*sql.Tx) error) error {
	tx, err := r.db.BeginTx(ctx, &sql.TxOptions{Isolation: r.dialect.isolation})
	if err != nil {
		return r.fail(what, err)
	}
	if err := do(tx); err != nil {
		_ = tx.Rollback() // the first error says more
		return r.fail(what, err)
	}
	if err := tx.Commit(); err != nil {
		return r.fail(what, err)
	}
	return nil
}

// Primary result codes of SQLite that this package distinguishes; ErrDamaged is for codeCorrupt
// and codeNotADB.
const (
	codeCantOpen = 14
	codeCorrupt  = 11
	codeFull     = 13
	codeNotADB   = 26
)

// codeOf returns the result code of an error of SQLite's driver, 0 for any other error.
func codeOf(err error) int {
	var coded interface{ Code() int } // the driver's errors have it
	if errors.As(err, &coded) {
		return coded.Code() & 0xff
	}
	return 0
}

// fail wraps an error with action and place, and marks damage as ErrDamaged.
func (r *Reader) fail(what string, err error) error {
	if err == nil {
		return nil
	}
	switch codeOf(err) { // other databases have no codes of this form
	case codeCorrupt, codeNotADB:
		return fmt.Errorf("%w: %s: %s: %w; move the file away (with its -wal and -shm) and start again, or restore a copy",
			ErrDamaged, r.place, what, err)
	case codeCantOpen:
		if why := whyClosed(r.file); why != nil {
			err = fmt.Errorf("%w: %w", err, why)
		}
	}
	if unknown := new(tls.CertificateVerificationError); errors.As(err, &unknown) {
		err = fmt.Errorf("%w; the host in the address must match the certificate, and sslrootcert must name the file of the authority that signed it", err)
	}
	if strings.Contains(err.Error(), "\n") {
		err = oneLine{err}
	}
	return fmt.Errorf("history %s: %s: %w", r.place, what, err)
}

// oneLine is an error whose text is put into one line.
type oneLine struct{ error }

func (e oneLine) Error() string { return strings.Join(strings.Fields(e.error.Error()), " ") }
func (e oneLine) Unwrap() error { return e.error }

// whyClosed asks the operating system why a file cannot be opened, which SQLite does not say.
func whyClosed(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	switch {
	case err == nil:
		return f.Close()
	case errors.Is(err, fs.ErrNotExist):
		return errors.New("it does not exist and cannot be created: is its folder writable?")
	}
	return err
}
