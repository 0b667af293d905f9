package sqltrace_test

import (
	"log/slog"
	"path"
	"strings"
	"testing"

	"github.com/wasmjob/wasmjob/host/trace/sqltrace"
	"github.com/wasmjob/wasmjob/host/trace/sqltrace/sqltest"
)

// execute executes statements in the database of a history.
func execute(t *testing.T, loc sqltrace.Location, statements ...string) {
	t.Helper()
	db, err := loc.DB()
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, statement := range statements {
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
}

// A user who may only read and write the rows of tables that another user has made can write a
// history. If the index of ElasticJob's table is missing, that is only said.
func TestTablesOfAnotherUser(t *testing.T) {
	t.Parallel()
	for name, kind := range map[string]struct {
		server func(testing.TB) *sqltest.Server
		create string
		grant  string
		unmake string
	}{
		"PostgreSQL": {sqltest.Postgres, "CREATE USER {user} PASSWORD 'secret'", "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO {user}", "DROP INDEX TASK_ID_STATE_INDEX"},
		"MariaDB":    {sqltest.MariaDB, "CREATE USER {user} IDENTIFIED BY 'secret'", "GRANT SELECT, INSERT, UPDATE, DELETE ON {database}.* TO {user}", "DROP INDEX TASK_ID_STATE_INDEX ON JOB_STATUS_TRACE_LOG"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dsn := kind.server(t).Database(t)
			database := path.Base(dsn)
			user := "writer_" + database
			named := strings.NewReplacer("{user}", user, "{database}", database)
			owner := address(t, dsn)
			owner.ElasticJob = true
			open(t, owner)
			execute(t, owner, named.Replace(kind.create), named.Replace(kind.grant))

			log := make(lines, 100)
			other, err := sqltrace.Address(strings.Replace(dsn, sqltest.User, user, 1), "secret")
			if err != nil {
				t.Fatal(err)
			}
			other.ElasticJob, other.Log = true, slog.New(slog.NewTextHandler(log, nil))
			write(t, open(t, other), run("j", 0, 10_000))
			if len(log) > 0 {
				t.Errorf("the log says %s", <-log)
			}
			execute(t, owner, kind.unmake)
			write(t, open(t, other), run("j", 0, 20_000))
			log.await(t, "JOB_STATUS_TRACE_LOG has no index")
			if rows := all(t, openReader(t, other), sqltrace.Filter{}); len(rows) != 2 {
				t.Errorf("the history has %d rows", len(rows))
			}
		})
	}
}

// In MariaDB an index of the same name may belong to a table that was put aside.
func TestIndexOfAnotherTable(t *testing.T) {
	t.Parallel()
	loc := address(t, sqltest.MariaDB(t).Database(t))
	loc.ElasticJob = true
	open(t, loc)
	execute(t, loc, "RENAME TABLE JOB_STATUS_TRACE_LOG TO of_last_year")
	open(t, loc)
	db, err := loc.DB()
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var n int
	const count = "SELECT COUNT(DISTINCT table_name) FROM information_schema.statistics WHERE table_schema = DATABASE() AND index_name = 'TASK_ID_STATE_INDEX'"
	if err := db.QueryRowContext(t.Context(), count).Scan(&n); err != nil || n != 2 {
		t.Errorf("%d tables have the index, %v", n, err)
	}
}
