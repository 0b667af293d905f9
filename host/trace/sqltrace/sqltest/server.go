// Package sqltest starts real servers of SQL databases for tests, and kills them. It is not for
// production code, and knows nothing of histories; the test links the driver.
//
// Flow: Postgres or MariaDB finds the program, or skips the test, and shares one server among
// the tests of a package; Server.Database creates a database for one test. Start runs a server
// that a test may kill.
package sqltest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

const (
	// patience bounds the wait for a server to start.
	patience = 2 * time.Minute
	// askEvery is the interval between two attempts to reach a server.
	askEvery = 20 * time.Millisecond
	tries    = 3

	// User and Password are the credentials of all servers. The password has characters that
	// must be escaped somewhere.
	User     = "tester"
	Password = `p'a"s:s@w/o?r%20d\#&` //nolint:gosec // for servers on loopback that end with the test
)

// Server is a server process. Its methods fail the test on errors.
type Server struct {
	kind    *kind
	dir     string // for its data and its log
	port    int
	more    []string // further arguments
	process *process
	made    atomic.Int64 // number of databases created
}

type process struct {
	cmd   *exec.Cmd
	guard *exec.Cmd // ends the server, and removes its folder, if this process dies
	alive io.Closer // the guard waits while it is open
	ended chan struct{}
}

// kind is a kind of database server.
type kind struct {
	name   string
	scheme string                // of its addresses
	driver string                // under which it registers
	source func(port int) string // data source name for the server's own database
	stop   syscall.Signal
	// make creates the data in a folder; run starts the server with it.
	make func(dir string) *exec.Cmd
	run  func(dir string, port int) *exec.Cmd
	// secure returns arguments that make the server accept TLS as well.
	secure func(cert, key string) []string
}

// shared holds the server of a kind that all tests of the process share.
type shared struct {
	once   sync.Once
	server *Server
	err    error
}

// get returns the shared server, and starts it for the first test.
func (s *shared) get(t testing.TB, k *kind) *Server {
	t.Helper()
	s.once.Do(func() { s.server, s.err = start(k) })
	if s.err != nil {
		t.Fatalf("start %s: %v", k.name, s.err)
	}
	return s.server
}

// Main runs the tests of a package, and then ends the servers that they share.
type Main struct{ M interface{ Run() int } }

// Run makes Main a testing.M for goleak.
func (m Main) Run() int {
	code := m.M.Run()
	for _, s := range []*shared{&sharedPostgres, &sharedMariaDB} {
		s.once.Do(func() {}) // none is started from now on
		if s.server != nil {
			s.server.remove()
		}
	}
	return code
}

// remove ends the server and deletes its folder.
func (s *Server) remove() {
	s.process.end(s.kind.stop)
	_ = os.RemoveAll(s.dir) // it is in the system's temporary folder
}

// Start runs a separate server of the same kind until the test ends.
func (s *Server) Start(t testing.TB) *Server {
	t.Helper()
	own, err := start(s.kind)
	if err != nil {
		t.Fatalf("start %s: %v", s.kind.name, err)
	}
	t.Cleanup(own.remove)
	return own
}

// Secure restarts the server with TLS, using a certificate and its key in PEM.
func (s *Server) Secure(t testing.TB, cert, key []byte) {
	t.Helper()
	paths := []string{filepath.Join(s.dir, "cert.pem"), filepath.Join(s.dir, "key.pem")}
	for i, text := range [][]byte{cert, key} {
		if err := os.WriteFile(paths[i], text, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := s.give(paths[i]); err != nil {
			t.Fatal(err)
		}
	}
	s.more = s.kind.secure(paths[0], paths[1])
	s.Restart(t)
}

// start starts a server of a kind in a few attempts.
func start(k *kind) (*Server, error) {
	var errs error
	for range tries { // another process may take the port first
		s, err := startOnce(k)
		if err == nil {
			return s, nil
		}
		errs = errors.Join(errs, err)
	}
	return nil, errs
}

// startOnce creates the data of a server, starts it, and waits until it accepts queries.
func startOnce(k *kind) (*Server, error) {
	dir, err := os.MkdirTemp("", "sqltest-") // the server's user could not enter a test's own folder
	if err != nil {
		return nil, fmt.Errorf("create a folder: %w", err)
	}
	s := &Server{kind: k, dir: dir}
	if s.port, err = freePort(); err != nil {
		return nil, err
	}
	if err := s.give(dir); err != nil {
		return nil, err
	}
	init := k.make(dir)
	init.Dir, init.SysProcAttr = dir, asNobody()
	if out, err := init.CombinedOutput(); err != nil {
		_ = os.RemoveAll(dir)
		return nil, fmt.Errorf("%s: %w\n%s", init, err, tail(out))
	}
	if err := s.launch(); err != nil {
		return nil, err
	}
	if err := s.await(); err != nil {
		s.process.end(syscall.SIGKILL)
		_ = os.RemoveAll(dir)
		return nil, err
	}
	return s, nil
}

// launch starts the process, or restarts it with its data, and does not wait.
func (s *Server) launch() error {
	log, err := os.OpenFile(filepath.Join(s.dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("create a log: %w", err)
	}
	cmd := s.kind.run(s.dir, s.port)
	cmd.Args = append(cmd.Args, s.more...)
	cmd.Dir, cmd.Stdout, cmd.Stderr, cmd.SysProcAttr = s.dir, log, log, asNobody()
	if err := cmd.Start(); err != nil {
		_ = log.Close()
		return fmt.Errorf("start it: %w", err)
	}
	p := &process{cmd: cmd, ended: make(chan struct{})}
	// The shell waits until the pipe is closed, at the latest by the death of this process:
	// nothing else would then end a server that tests share.
	p.guard = exec.Command("sh", "-c", `read -r _ || { kill -`+strconv.Itoa(int(s.kind.stop))+` "$0"; while kill -0 "$0"; do sleep 0.1; done; rm -rf "$1"; }`, //nolint:noctx,gosec // a number and a folder of ours
		strconv.Itoa(cmd.Process.Pid), s.dir)
	p.guard.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C must not end it
	alive, err := p.guard.StdinPipe()
	if err == nil {
		p.alive, err = alive, p.guard.Start()
	}
	go func() {
		defer close(p.ended)
		_ = cmd.Wait() // it was killed
		_ = log.Close()
	}()
	s.process = p
	if err != nil {
		p.end(syscall.SIGKILL)
		return fmt.Errorf("start its guard: %w", err)
	}
	return nil
}

// end ends the server by a signal and waits for that.
func (p *process) end(how syscall.Signal) {
	_ = p.cmd.Process.Signal(how) // it may have ended
	<-p.ended
	if p.alive != nil {
		_ = p.guard.Process.Kill() // before its pipe is closed, so that it does not remove the folder
		_ = p.guard.Wait()
		p.alive = nil
	}
}

// await waits until the server accepts queries.
func (s *Server) await() error {
	db, err := sql.Open(s.kind.driver, s.kind.source(s.port))
	if err != nil {
		return fmt.Errorf("ask it: %w", err)
	}
	defer db.Close()                                                   //nolint:errcheck // nothing was written
	ctx, cancel := context.WithTimeout(context.Background(), patience) //nolint:forbidigo // bounded by itself; tests share the server
	defer cancel()
	ask := time.NewTicker(askEvery)
	defer ask.Stop()
	for {
		err := db.PingContext(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-ask.C:
		case <-s.process.ended:
			return fmt.Errorf("it ended:\n%s", s.log())
		case <-ctx.Done():
			return fmt.Errorf("it does not serve: %w:\n%s", err, s.log())
		}
	}
}

// log returns the end of the server's log, for messages.
func (s *Server) log() string {
	text, err := os.ReadFile(filepath.Join(s.dir, "log"))
	if err != nil {
		return err.Error()
	}
	return tail(text)
}

func tail(text []byte) string { return string(text[max(0, len(text)-4000):]) }

// Database creates a database, and returns its address without a password.
func (s *Server) Database(t testing.TB) string {
	t.Helper()
	name := "test_" + strconv.FormatInt(s.made.Add(1), 10)
	s.Exec(t, "CREATE DATABASE "+name)
	return fmt.Sprintf("%s://%s@127.0.0.1:%d/%s", s.kind.scheme, User, s.port, name)
}

// Exec executes statements in the server's own database.
func (s *Server) Exec(t testing.TB, statements ...string) {
	t.Helper()
	db, err := sql.Open(s.kind.driver, s.kind.source(s.port))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close() //nolint:errcheck // the statements have been executed
	for _, statement := range statements {
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			select {
			case <-s.process.ended: // a crash, or another process ended it
				t.Fatalf("%s: %v; the server has ended:\n%s", statement, err, s.log())
			default:
				t.Fatalf("%s: %v", statement, err)
			}
		}
	}
}

// Kill ends the process at once, like a crash: it writes nothing any more.
func (s *Server) Kill() { s.process.end(s.kind.stop) }

// Restart starts the server again with its data, and waits until it accepts queries.
func (s *Server) Restart(t testing.TB) {
	t.Helper()
	s.Kill()
	if err := s.launch(); err != nil {
		t.Fatal(err)
	}
	if err := s.await(); err != nil {
		t.Fatal(err)
	}
}

// give makes the user that runs the server the owner of a folder.
func (s *Server) give(dir string) error {
	as := asNobody().Credential
	if as == nil {
		return nil
	}
	if err := os.Chown(dir, int(as.Uid), int(as.Gid)); err != nil {
		return fmt.Errorf("give the folder to the server: %w", err)
	}
	return nil
}

// asNobody returns attributes for a process that must not run as root, as these servers refuse
// that.
func asNobody() *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{Setpgid: true} // Ctrl-C ends the test, and that the server
	if os.Getuid() != 0 {
		return attr
	}
	id := uint64(65534)
	if u, err := user.Lookup("nobody"); err == nil {
		if n, err := strconv.ParseUint(u.Uid, 10, 32); err == nil {
			id = n
		}
	}
	attr.Credential = &syscall.Credential{Uid: uint32(id), Gid: uint32(id)}
	return attr
}

// freePort returns a port on which no process listens.
func freePort() (int, error) {
	l, err := new(net.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:0") //nolint:forbidigo // it does not wait
	if err != nil {
		return 0, fmt.Errorf("find a port: %w", err)
	}
	defer l.Close() //nolint:errcheck // nothing was accepted
	return l.Addr().(*net.TCPAddr).Port, nil
}

// strict reports whether tests must not be left out, as in CI.
func strict() bool { return os.Getenv("WASMJOBD_STRICT") == "1" }

// installation serialises installations: the package manager's lock would refuse the second.
var installation sync.Mutex

// find returns the last of the programs that match a pattern. If there is none, it skips the
// test; if WASMJOBD_STRICT is 1, it installs the package instead, or fails the test.
func find(t testing.TB, pattern, debian string) string {
	t.Helper()
	installation.Lock()
	defer installation.Unlock()
	if path := last(pattern); path != "" {
		return path
	}
	if strict() && os.Getuid() == 0 {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
		defer cancel()
		install := exec.CommandContext(ctx, "apt-get", "-o", "DPkg::Lock::Timeout=300", "-y", "-qq", "install", "--no-install-recommends", debian) //nolint:gosec // constant package names
		install.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
		if out, err := install.CombinedOutput(); err != nil {
			t.Fatalf("install %s: %v\n%s", debian, err, tail(out))
		}
	}
	path := last(pattern)
	if path == "" {
		why := fmt.Sprintf("left out: no %s: apt-get install %s", pattern, debian)
		if strict() {
			t.Fatal(why)
		}
		t.Skip(why)
	}
	return path
}

// last returns the last file that matches; empty: there is none.
func last(pattern string) string {
	found, err := filepath.Glob(pattern)
	if err != nil || len(found) == 0 {
		return ""
	}
	return found[len(found)-1]
}

// write writes a file into the server's folder and returns its path.
func write(dir, name string, lines ...string) string {
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"), 0o644); err != nil { //nolint:gosec // another user must read it, and it contains no secret
		panic(err) // of a test; the folder was just made
	}
	return path
}
