package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/wasmjob/wasmjob/host/registry/zk/zktest"
	"github.com/wasmjob/wasmjob/host/trace/sqltrace/sqltest"
)

// TestDatabaseScripts run the commands of a user beside a server whose history is in a database
// of each kind.
func TestDatabaseScripts(t *testing.T) {
	t.Parallel()
	wat, err := filepath.Abs("../../abi/conformance/wat")
	if err != nil {
		t.Fatal(err)
	}
	verify := map[string]string{"PostgreSQL": "sslmode=verify-full", "MariaDB": "tls=true"}
	for name, shared := range map[string]func(testing.TB) *sqltest.Server{"PostgreSQL": sqltest.Postgres, "MariaDB": sqltest.MariaDB} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			common := shared(t)
			own, other := t.TempDir(), t.TempDir()
			zktest.Secure(t, own, "0", "none") // its certificate is for any server on localhost
			zktest.Secure(t, other, "0", "none")
			testscript.Run(t, testscript.Params{
				Dir: "testdata/database",
				Cmds: map[string]func(*testscript.TestScript, bool, []string){
					"until":          until,
					"kill-database":  func(ts *testscript.TestScript, _ bool, _ []string) { databaseOf(ts).Kill() },
					"start-database": func(ts *testscript.TestScript, _ bool, _ []string) { databaseOf(ts).Restart(t) },
				},
				Setup: func(e *testscript.Env) error {
					server := common.Start(t) // a separate one, which the script may kill
					secure(t, server, own)
					e.Values[databaseKey{}] = server
					e.Setenv("OK", filepath.Join(wat, "ok.wasm"))
					e.Setenv("DSN", server.Database(t))
					e.Setenv("LOCALHOST", strings.Replace(server.Database(t), "127.0.0.1", "localhost", 1)+"?"+verify[name])
					e.Setenv("CERT", filepath.Join(own, "cert.pem"))
					e.Setenv("OTHER", filepath.Join(other, "cert.pem"))
					e.Setenv("PASSWORD", sqltest.Password)
					e.Setenv("WASMJOBD_SERVER__LOG__FORMAT", "json")
					return nil
				},
			})
		})
	}
}

// databaseKey is the key of a script's own database server.
type databaseKey struct{}

func databaseOf(ts *testscript.TestScript) *sqltest.Server {
	return ts.Value(databaseKey{}).(*sqltest.Server)
}

// secure makes a server accept TLS with the certificate in a folder.
func secure(t *testing.T, server *sqltest.Server, dir string) {
	t.Helper()
	cert, err := os.ReadFile(filepath.Join(dir, "cert.pem"))
	if err != nil {
		t.Fatal(err)
	}
	key, err := os.ReadFile(filepath.Join(dir, "key.pem"))
	if err != nil {
		t.Fatal(err)
	}
	server.Secure(t, cert, key)
}
