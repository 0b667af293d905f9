package sqltest

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

var sharedMariaDB shared

// MariaDB returns a server of Debian's MariaDB.
func MariaDB(t testing.TB) *Server {
	t.Helper()
	program := find(t, "/usr/sbin/mariadbd", "mariadb-server")
	return sharedMariaDB.get(t, &kind{
		name: "MariaDB", scheme: "mysql", driver: "mysql", stop: syscall.SIGKILL,
		source: func(port int) string { return fmt.Sprintf("%s:%s@tcp(127.0.0.1:%d)/mysql", User, Password, port) },
		make: func(dir string) *exec.Cmd {
			quoted := strings.NewReplacer(`\`, `\\`, "'", `\'`).Replace(Password)
			write(dir, "users.sql", "CREATE USER IF NOT EXISTS "+User+"@'%' IDENTIFIED BY '"+quoted+"';", "GRANT ALL ON *.* TO "+User+"@'%' WITH GRANT OPTION;")
			return exec.Command("/usr/bin/mariadb-install-db", "--no-defaults", "--datadir="+filepath.Join(dir, "data"), //nolint:noctx,gosec // a short command with our arguments
				"--auth-root-authentication-method=normal", "--skip-test-db", "--innodb-log-file-size=16M", "--innodb-flush-log-at-trx-commit=0", "--skip-name-resolve")
		},
		secure: func(cert, key string) []string { return []string{"--ssl-cert=" + cert, "--ssl-key=" + key} },
		run: func(dir string, port int) *exec.Cmd {
			return exec.Command(program, "--no-defaults", "--datadir="+filepath.Join(dir, "data"), "--port="+strconv.Itoa(port), //nolint:noctx,gosec // Kill ends it
				"--bind-address=127.0.0.1", "--socket="+filepath.Join(dir, "socket"), "--pid-file="+filepath.Join(dir, "pid"),
				"--init-file="+filepath.Join(dir, "users.sql"), "--skip-name-resolve", "--innodb-log-file-size=16M",
				// Tests kill the process, not the machine, so it need not sync.
				"--innodb-flush-log-at-trx-commit=2", "--innodb-doublewrite=0", "--innodb-buffer-pool-size=64M", "--max-connections=200")
		},
	})
}
