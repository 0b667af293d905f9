package main

import (
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/wasmjob/wasmjob/host/trace/sqltrace/sqltest"
)

// TestDatabaseScripts type what a person types beside a server whose history is in a
// database, of each kind.
func TestDatabaseScripts(t *testing.T) {
	t.Parallel()
	wat, err := filepath.Abs("../../abi/conformance/wat")
	if err != nil {
		t.Fatal(err)
	}
	for name, shared := range map[string]func(testing.TB) *sqltest.Server{"PostgreSQL": sqltest.Postgres, "MariaDB": sqltest.MariaDB} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := shared(t).Start(t) // scripts kill it
			testscript.Run(t, testscript.Params{
				Dir: "testdata/database",
				Cmds: map[string]func(*testscript.TestScript, bool, []string){
					"until":          until,
					"kill-database":  func(ts *testscript.TestScript, _ bool, _ []string) { server.Kill() },
					"start-database": func(ts *testscript.TestScript, _ bool, _ []string) { server.Restart(t) },
				},
				Setup: func(e *testscript.Env) error {
					e.Setenv("OK", filepath.Join(wat, "ok.wasm"))
					e.Setenv("DSN", server.Database(t))
					e.Setenv("PASSWORD", sqltest.Password)
					e.Setenv("WASMJOBD_SERVER__LOG__FORMAT", "json")
					return nil
				},
			})
		})
	}
}
