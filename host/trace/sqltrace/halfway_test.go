package sqltrace_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wasmjob/wasmjob/host/trace"
	"github.com/wasmjob/wasmjob/host/trace/sqltrace"
	"github.com/wasmjob/wasmjob/host/trace/sqltrace/sqltest"
)

// MariaDB cannot roll back the creation of a table or column: a server that dies meanwhile
// leaves them behind, without their version.
func TestMigrationThatWasCutShort(t *testing.T) {
	t.Parallel()
	for _, spoil := range [][]string{
		{"DELETE FROM wasmjobd_schema"},
		{"DELETE FROM wasmjobd_schema WHERE version > 1", "ALTER TABLE wasmjobd_run DROP COLUMN metrics, DROP COLUMN code, DROP COLUMN guest_log"},
		{"DELETE FROM wasmjobd_schema", "DROP INDEX wasmjobd_run_end ON wasmjobd_run"},
	} {
		t.Run(spoil[len(spoil)-1], func(t *testing.T) {
			t.Parallel()
			loc := address(t, sqltest.MariaDB(t).Database(t))
			write(t, open(t, loc), run("j", 0, 10))
			db, err := loc.DB()
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			for _, statement := range spoil {
				if _, err := db.ExecContext(t.Context(), statement); err != nil {
					t.Fatal(err)
				}
			}
			s := open(t, loc)
			write(t, s, run("j", 0, 20))
			if diff := cmp.Diff([]trace.Row{run("j", 0, 20), run("j", 0, 10)}, all(t, s.Reader, sqltrace.Filter{})); diff != "" {
				t.Error(diff)
			}
		})
	}
}
