package sqltrace_test

import (
	"context"
	"testing"
	"time"

	"github.com/wasmjob/wasmjob/host/trace/sqltrace"
	"github.com/wasmjob/wasmjob/host/trace/sqltrace/sqltest"
)

// A server that gave up on bringing the tables up to date, or needed longer than the lock is
// waited for, does not keep other servers from it.
func TestLockEndsWithoutItsContext(t *testing.T) {
	t.Parallel()
	for name, server := range map[string]func(testing.TB) *sqltest.Server{"PostgreSQL": sqltest.Postgres, "MariaDB": sqltest.MariaDB} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			loc := address(t, server(t).Database(t))
			ctx, cancel := context.WithCancel(t.Context())
			unlock, err := open(t, loc).Lock(ctx)
			if err != nil {
				t.Fatal(err)
			}
			cancel()
			unlock()
			within, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			other, err := sqltrace.Open(within, loc)
			if err != nil {
				t.Fatal(err)
			}
			if err := other.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}
