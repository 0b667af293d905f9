package sqltrace

import (
	"database/sql"
	"slices"
	"strconv"
	"strings"
)

// dialect is what one kind of database says in another way than the others.
type dialect struct {
	driver string // the name under which the program links it

	// numbered: parameters are $1, $2 and so on, not question marks.
	numbered bool
	// columns lists the columns of the table that is its parameter; none if there is
	// no such table.
	columns string
	// become ends the statement that puts a row: what a row that is stored already
	// takes from the new one.
	become string
	// index begins the statement that makes an index, unless it is there; else made has
	// the error.
	index string
	// stay ends the statement that puts a row into a table of ElasticJob, where one that
	// is there stays.
	stay string
	// Types that are spelled in different ways. Names compare as bytes, as in Go, or
	// pages and cursors would not agree.
	name, bytes, truth, options string
	// lock takes the right to change tables, and returns 1; unlock gives it back. Both
	// are empty where a transaction has it.
	lock, unlock string
	// made begins an error that says that a statement has been carried out before. It
	// is for databases that cannot take back half of a migration.
	made []string
	// isolation of the transactions that write.
	isolation sql.IsolationLevel
}

// conflict is how SQLite and PostgreSQL let what was taken over become what it came
// to be.
const conflict = "ON CONFLICT (job, item, run, attempt) DO UPDATE SET state = excluded.state, reason = excluded.reason, reason_code = excluded.reason_code " +
	"WHERE wasmjobd_run.state = 'taken_over' AND excluded.state NOT IN ('taken_over', 'retried')"

func sqlite() *dialect {
	return &dialect{
		driver:  "sqlite",
		columns: "SELECT name FROM pragma_table_info(?)",
		become:  conflict,
		index:   "CREATE INDEX IF NOT EXISTS",
		name:    "VARCHAR(255)", bytes: "BLOB",
	}
}

func postgres() *dialect {
	return &dialect{
		driver:   "pgx",
		numbered: true,
		columns:  "SELECT column_name FROM information_schema.columns WHERE table_schema = current_schema() AND table_name = ?",
		become:   conflict,
		index:    "CREATE INDEX IF NOT EXISTS",
		stay:     "ON CONFLICT (id) DO NOTHING",
		name:     `VARCHAR(255) COLLATE "C"`, bytes: "BYTEA", truth: "BOOLEAN",
		// The function has no value, and the number is ours alone.
		lock:   "SELECT 1 FROM (SELECT pg_advisory_lock(7812053340961)) AS l",
		unlock: "SELECT pg_advisory_unlock(7812053340961)",
	}
}

// mysql is MariaDB as well.
func mysql() *dialect {
	const taken = "state = 'taken_over' AND VALUES(state) NOT IN ('taken_over', 'retried')"
	return &dialect{
		driver:  "mysql",
		columns: "SELECT column_name FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name = ?",
		// In this order: what is set first is what the next one sees.
		become: "ON DUPLICATE KEY UPDATE reason = IF(" + taken + ", VALUES(reason), reason), " +
			"reason_code = IF(" + taken + ", VALUES(reason_code), reason_code), state = IF(" + taken + ", VALUES(state), state)",
		// A text would be compared without the spaces at its end.
		name: "VARBINARY(255)", bytes: "MEDIUMBLOB", truth: "INT",
		index:   "CREATE INDEX",
		stay:    "ON DUPLICATE KEY UPDATE id = id",
		options: " ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin",
		lock:    "SELECT GET_LOCK(CONCAT('wasmjobd.', MD5(DATABASE())), 60)",
		unlock:  "SELECT RELEASE_LOCK(CONCAT('wasmjobd.', MD5(DATABASE())))",
		// A table, a column, an index that is there.
		made: []string{"Error 1050 ", "Error 1060 ", "Error 1061 "},
		// The default locks more than the rows that are written.
		isolation: sql.LevelReadCommitted,
	}
}

// bind gives a statement, in which each ? is a parameter, the form that the database
// takes.
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

// spell puts the dialect's types into a migration.
func (d *dialect) spell(migration string) string {
	return strings.NewReplacer("{name}", d.name, "{bytes}", d.bytes, "{truth}", d.truth, "{options}", d.options).Replace(migration)
}

// wasMade reports whether err says that what a migration makes is there.
func (d *dialect) wasMade(err error) bool {
	return slices.ContainsFunc(d.made, func(begin string) bool { return strings.HasPrefix(err.Error(), begin) })
}
