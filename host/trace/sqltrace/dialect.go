package sqltrace

import (
	"database/sql"
	"errors"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// dialect is what one kind of database spells differently from others.
type dialect struct {
	driver string // the name under which the program registers it

	// numbered: parameters are $1, $2 and so on instead of question marks.
	numbered bool
	// columns lists the columns of the table that is its parameter; none if the table does not
	// exist.
	columns string
	// indexes counts the indexes whose name and table are its parameters.
	indexes string
	// become ends the statement that inserts a row: it says what a stored row takes from the
	// new one.
	become string
	// index begins a statement that creates an index unless it exists. If the database has no
	// such statement, made has the error.
	index string
	// stay ends a statement that inserts a row into a table of ElasticJob, where an existing
	// row stays as it is.
	stay string
	// Types with different spellings. Names compare as bytes, as in Go; otherwise pages and
	// cursors would not agree.
	name, bytes, truth, options string
	// lock acquires the right to change tables, and returns 1; unlock releases it. Both are
	// empty if a transaction is enough.
	lock, unlock string
	// made begins errors that say that a statement was carried out before. It is for databases
	// that cannot roll back half of a migration.
	made []string
	// isolation level of writing transactions.
	isolation sql.IsolationLevel
}

// conflict is how a stored row of a run that was taken over takes a final state in SQLite and
// PostgreSQL.
const conflict = "ON CONFLICT (job, item, run, attempt) DO UPDATE SET state = excluded.state, reason = excluded.reason, reason_code = excluded.reason_code " +
	"WHERE wasmjobd_run.state = 'taken_over' AND excluded.state NOT IN ('taken_over', 'retried')"

// sqlite is the dialect of the file on the server's own disk.
func sqlite() *dialect {
	return &dialect{
		driver:  "sqlite",
		columns: "SELECT name FROM pragma_table_info(?)",
		indexes: "SELECT COUNT(*) FROM sqlite_master WHERE type = 'index' AND name = ? AND tbl_name = ? COLLATE NOCASE",
		become:  conflict,
		index:   "CREATE INDEX IF NOT EXISTS",
		name:    "VARCHAR(255)", bytes: "BLOB",
	}
}

// postgres is the dialect of PostgreSQL.
func postgres() *dialect {
	return &dialect{
		driver:   "pgx",
		numbered: true,
		columns:  "SELECT column_name FROM information_schema.columns WHERE table_schema = current_schema() AND table_name = LOWER(?)",
		indexes:  "SELECT COUNT(*) FROM pg_indexes WHERE schemaname = current_schema() AND indexname = LOWER(?) AND tablename = LOWER(?)",
		become:   conflict,
		index:    "CREATE INDEX IF NOT EXISTS",
		stay:     "ON CONFLICT (id) DO NOTHING",
		name:     `VARCHAR(255) COLLATE "C"`, bytes: "BYTEA", truth: "BOOLEAN",
		// The function returns no value. No other program uses the number.
		lock:   "SELECT 1 FROM (SELECT pg_advisory_lock(7812053340961)) AS l",
		unlock: "SELECT pg_advisory_unlock(7812053340961)",
	}
}

// mysql is the dialect of MySQL and MariaDB.
func mysql() *dialect {
	const taken = "state = 'taken_over' AND VALUES(state) NOT IN ('taken_over', 'retried')"
	return &dialect{
		driver:  "mysql",
		columns: "SELECT column_name FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name = ?",
		indexes: "SELECT COUNT(*) FROM information_schema.statistics WHERE table_schema = DATABASE() AND index_name = ? AND table_name = ?",
		// The order matters: assignments see the values that earlier ones have set.
		become: "ON DUPLICATE KEY UPDATE reason = IF(" + taken + ", VALUES(reason), reason), " +
			"reason_code = IF(" + taken + ", VALUES(reason_code), reason_code), state = IF(" + taken + ", VALUES(state), state)",
		// A text type would ignore spaces at the end in comparisons.
		name: "VARBINARY(255)", bytes: "MEDIUMBLOB", truth: "INT",
		index:   "CREATE INDEX",
		stay:    "ON DUPLICATE KEY UPDATE id = id",
		options: " ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin",
		lock:    "SELECT GET_LOCK(CONCAT('wasmjobd.', MD5(DATABASE())), 60)",
		unlock:  "SELECT RELEASE_LOCK(CONCAT('wasmjobd.', MD5(DATABASE())))",
		// Errors for a table, a column and an index that exist.
		made: []string{"Error 1050 ", "Error 1060 ", "Error 1061 "},
		// The default level locks more rows than those written.
		isolation: sql.LevelReadCommitted,
	}
}

// bind converts a statement, in which each ? is a parameter, to the database's form.
func (d *dialect) bind(statement string) string {
	if !d.numbered {
		return statement
	}
	var b strings.Builder
	for i, part := range strings.Split(statement, "?") {
		if i > 0 {
			b.WriteString("$" + strconv.Itoa(i))
		}
		b.WriteString(part)
	}
	return b.String()
}

// spell replaces type placeholders in a migration.
func (d *dialect) spell(migration string) string {
	return strings.NewReplacer("{name}", d.name, "{bytes}", d.bytes, "{truth}", d.truth, "{options}", d.options).Replace(migration)
}

// wasMade reports whether err says that something already exists.
func (d *dialect) wasMade(err error) bool {
	return slices.ContainsFunc(d.made, func(begin string) bool { return strings.HasPrefix(err.Error(), begin) })
}

// ofData matches errors of MySQL and MariaDB about data, by their number or state. Text
// outside the character set has no state in MySQL.
var ofData = regexp.MustCompile(`^Error (\d+ \((22|23)|(1118|1153|1366) )`)

// refusesRow reports whether err says that the database cannot store a row because of what is in
// it: data exceptions, broken constraints, and sizes in MySQL. Any other error may pass, such as that
// of a full disk. PostgreSQL's class of exceeded limits is none of these: the database has it for
// all rows when its transaction numbers run out.
func refusesRow(err error) bool { return ofClass(err, ofData, "22", "23") }

// passing matches errors of MySQL and MariaDB about the state of the database: deadlocks, queries
// that were ended, full disks and tables, and locks that were not given in time.
var passing = regexp.MustCompile(`^Error (\d+ \((40|70)|(1021|1114|1205) )`)

// mayPass reports whether err is about the state of the database, not about the statement: in
// PostgreSQL, deadlocks, missing resources, locks, ended queries and errors of the system.
func mayPass(err error) bool { return ofClass(err, passing, "40", "53", "55", "57", "58") }

// ofClass reports whether err is of PostgreSQL and has one of the classes, or its text matches.
func ofClass(err error, text *regexp.Regexp, classes ...string) bool {
	if e, ok := errors.AsType[interface {
		error
		SQLState() string
	}](err); ok { // of PostgreSQL
		return slices.Contains(classes, e.SQLState()[:min(2, len(e.SQLState()))])
	}
	for ; err != nil; err = errors.Unwrap(err) {
		if text.MatchString(err.Error()) {
			return true
		}
	}
	return false
}
