package sqltest

import (
	"net/url"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
)

var sharedPostgres shared

// Postgres returns a server of Debian's PostgreSQL.
func Postgres(t testing.TB) *Server {
	t.Helper()
	bin := filepath.Dir(find(t, "/usr/lib/postgresql/*/bin/postgres", "postgresql"))
	return sharedPostgres.get(t, &kind{
		name: "PostgreSQL", scheme: "postgres", driver: "pgx",
		source: func(port int) string {
			u := url.URL{Scheme: "postgres", User: url.UserPassword(User, Password), Host: "127.0.0.1:" + strconv.Itoa(port), Path: "/postgres"}
			return u.String()
		},
		stop: syscall.SIGQUIT, // like a crash; after SIGKILL its shared memory would remain
		make: func(dir string) *exec.Cmd {
			return exec.Command(filepath.Join(bin, "initdb"), "--no-sync", "-D", filepath.Join(dir, "data"), "-U", User, "-E", "UTF8", "--locale=C.UTF-8", //nolint:noctx,gosec // a short command with our arguments
				"--auth=scram-sha-256", "--pwfile="+write(dir, "password", Password))
		},
		secure: func(cert, key string) []string {
			return []string{"-c", "ssl=on", "-c", "ssl_cert_file=" + cert, "-c", "ssl_key_file=" + key}
		},
		run: func(dir string, port int) *exec.Cmd {
			return exec.Command(filepath.Join(bin, "postgres"), "-D", filepath.Join(dir, "data"), "-p", strconv.Itoa(port), "-k", dir, //nolint:noctx,gosec // Kill ends it
				"-c", "listen_addresses=127.0.0.1", "-c", "fsync=off", "-c", "max_connections=200")
		},
	})
}
