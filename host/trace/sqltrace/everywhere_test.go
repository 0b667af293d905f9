package sqltrace_test

import (
	"testing"

	_ "github.com/go-sql-driver/mysql"
	_ "github.com/jackc/pgx/v5/stdlib"
	_ "modernc.org/sqlite"

	"github.com/wasmjob/wasmjob/host/trace/sqltrace"
	"github.com/wasmjob/wasmjob/host/trace/sqltrace/sqltest"
)

// databases returns functions that create an empty database of each kind.
func databases() map[string]func(testing.TB) sqltrace.Location {
	served := func(server func(testing.TB) *sqltest.Server) func(testing.TB) sqltrace.Location {
		return func(t testing.TB) sqltrace.Location {
			t.Helper()
			return address(t, server(t).Database(t))
		}
	}
	return map[string]func(testing.TB) sqltrace.Location{
		"SQLite":     locate,
		"PostgreSQL": served(sqltest.Postgres),
		"MariaDB":    served(sqltest.MariaDB),
	}
}

func address(t testing.TB, dsn string) sqltrace.Location {
	t.Helper()
	at, err := sqltrace.Address(dsn, sqltest.Password)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

// everywhere runs a test on an empty database of each kind.
func everywhere(t *testing.T, test func(*testing.T, sqltrace.Location)) {
	t.Helper()
	t.Parallel()
	for name, empty := range databases() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, empty(t))
		})
	}
}
