package zktest

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

const (
	// patience bounds the wait for a server to start.
	patience = time.Minute
	// askEvery is the interval between two attempts to reach a server.
	askEvery = 20 * time.Millisecond
	// portsEach is the number of ports of a member of an ensemble: for clients, for followers,
	// for votes.
	portsEach = 3
	tries     = 3
)

// Options of servers.
type Options struct {
	// Tick is the server's unit of time: it grants session time-outs of 2 to 20 ticks. 0: 500
	// ms.
	Tick time.Duration
	// Lines are added to the configuration.
	Lines []string
	// Java is added to the default options of Java, which make a server start quickly, and
	// overrides them.
	Java []string
}

// Host is where a server runs: a network of its own, with an address that the test can reach.
type Host struct {
	IP string
	// Enter is a command that runs the command after it on the host, such as "ip netns exec
	// name". If it is empty, the server runs where the test does.
	Enter []string
}

// Server is a server process. Its methods fail the test on errors.
type Server struct {
	t       testing.TB
	release Release
	java    []string
	host    Host
	dir     string
	address string
	process *process
}

type process struct {
	cmd   *exec.Cmd
	guard *exec.Cmd // kills the server if this process dies
	ended chan struct{}
}

// Start runs a single server until the test ends, and waits until it serves.
func Start(t testing.TB, r Release, o Options) *Server {
	t.Helper()
	for try := 1; ; try++ {
		port := freePorts(t, 1)[0]
		s := newServer(t, r, o, loopback(), port, nil)
		s.Launch()
		if err := s.await(); err == nil {
			return s
		} else if try == tries {
			t.Fatalf("start ZooKeeper: %v", err)
		}
		s.Kill()
	}
}

// StartEnsemble runs n servers as one service, and waits until all of them serve.
func StartEnsemble(t testing.TB, r Release, n int, o Options) []*Server {
	t.Helper()
	for try := 1; ; try++ {
		servers, err := startEnsemble(t, r, n, o)
		if err == nil {
			return servers
		}
		if try == tries {
			t.Fatalf("start an ensemble: %v", err)
		}
		for _, s := range servers {
			s.Kill()
		}
	}
}

// startEnsemble is one try of StartEnsemble. With an error it also returns the servers, which may
// run.
func startEnsemble(t testing.TB, r Release, n int, o Options) ([]*Server, error) {
	t.Helper()
	return startMembers(t, r, slices.Repeat([]Host{loopback()}, n), freePorts(t, portsEach*n), o)
}

// StartEnsembleOn runs a server on each host, on the usual ports, and waits until all of them
// serve.
func StartEnsembleOn(t testing.TB, r Release, hosts []Host, o Options) []*Server {
	t.Helper()
	servers, err := startMembers(t, r, hosts, slices.Repeat([]int{2181, 2888, 3888}, len(hosts)), o)
	if err != nil {
		t.Fatalf("start an ensemble: %v", err)
	}
	return servers
}

// startMembers runs a server on each host, as one service, and waits until all of them serve. The
// ports are portsEach for each host. With an error it also returns the servers.
func startMembers(t testing.TB, r Release, hosts []Host, ports []int, o Options) ([]*Server, error) {
	t.Helper()
	lines := []string{"initLimit=10", "syncLimit=5", "standaloneEnabled=false"}
	for i, h := range hosts {
		lines = append(lines, fmt.Sprintf("server.%d=%s:%d:%d", i+1, h.IP, ports[portsEach*i+1], ports[portsEach*i+2]))
	}
	servers := make([]*Server, len(hosts))
	for i, h := range hosts {
		servers[i] = newServer(t, r, o, h, ports[portsEach*i], lines)
		servers[i].write("data/myid", strconv.Itoa(i+1))
	}
	for _, s := range servers {
		s.Launch()
	}
	for _, s := range servers {
		if err := s.await(); err != nil {
			return servers, err
		}
	}
	return servers, nil
}

func loopback() Host { return Host{IP: "127.0.0.1"} }

// newServer writes the configuration of a server, with these lines added, and does not start it.
func newServer(t testing.TB, r Release, o Options, h Host, port int, lines []string) *Server {
	t.Helper()
	o.Tick = cmp.Or(o.Tick, 500*time.Millisecond)
	s := &Server{t: t, release: r, java: o.Java, host: h, dir: t.TempDir(), address: fmt.Sprintf("%s:%d", h.IP, port)}
	config := append([]string{
		"tickTime=" + strconv.FormatInt(o.Tick.Milliseconds(), 10),
		"dataDir=" + filepath.Join(s.dir, "data"),
		"clientPortAddress=" + h.IP,
		"clientPort=" + strconv.Itoa(port),
		"maxClientCnxns=0",
		"admin.enableServer=false",
		"4lw.commands.whitelist=*",
	}, append(lines, o.Lines...)...)
	if err := os.Mkdir(filepath.Join(s.dir, "data"), 0o750); err != nil {
		t.Fatal(err)
	}
	s.write("zoo.cfg", strings.Join(config, "\n")+"\n")
	return s
}

// write writes a file of the server.
func (s *Server) write(name, text string) {
	s.t.Helper()
	if err := os.WriteFile(filepath.Join(s.dir, name), []byte(text), 0o600); err != nil {
		s.t.Fatal(err)
	}
}

// Address returns the address for clients; it stays the same over restarts.
func (s *Server) Address() string { return s.address }

// Dir returns the directory with the server's configuration, log and data.
func (s *Server) Dir() string { return s.dir }

// Launch starts the process, or restarts it with its data after Kill, and does not wait.
func (s *Server) Launch() {
	s.t.Helper()
	log, err := os.OpenFile(filepath.Join(s.dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		s.t.Fatal(err)
	}
	args := append(slices.Clone(s.host.Enter), "java", "-cp", s.release.classpath, "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
		"-Dzookeeper.forceSync=no", "-Dzookeeper.jmx.log4j.disable=true", "-Dzookeeper.extendedTypesEnabled=true",
		// After lost votes, as when a frozen server continues, the next ones would by default
		// wait up to a minute, which is the test's time limit.
		"-Dzookeeper.fastleader.maxNotificationInterval=1000",
		"-Dzookeeper.serverCnxnFactory="+s.factory())
	args = append(append(args, s.java...),
		"org.apache.zookeeper.server.quorum.QuorumPeerMain", filepath.Join(s.dir, "zoo.cfg"))
	cmd := exec.Command(args[0], args[1:]...) //nolint:noctx,gosec // Kill ends it; the arguments are ours
	cmd.Dir, cmd.Stdout, cmd.Stderr = s.dir, log, log
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	p := &process{cmd: cmd, ended: make(chan struct{})}
	// The shell waits until the pipe is closed, at the latest by the death of this process: a
	// test that panics or times out cleans nothing up.
	p.guard = exec.Command("sh", "-c", "read -r _; kill -KILL "+strconv.Itoa(cmd.Process.Pid)) //nolint:noctx,gosec // a number
	if _, err := p.guard.StdinPipe(); err != nil {
		s.t.Fatal(err)
	}
	if err := p.guard.Start(); err != nil {
		s.t.Fatal(err)
	}
	go func() {
		defer close(p.ended)
		_ = cmd.Wait() // it was killed
		_ = p.guard.Process.Kill()
		_ = p.guard.Wait()
		_ = log.Close()
	}()
	s.process = p
	s.t.Cleanup(func() { end(p) })
}

// factory returns the class for connections that supports TLS, if the configuration has a port
// for it.
func (s *Server) factory() string {
	config, err := os.ReadFile(filepath.Join(s.dir, "zoo.cfg"))
	if err == nil && strings.Contains(string(config), "secureClientPort") {
		return "org.apache.zookeeper.server.NettyServerCnxnFactory"
	}
	return "org.apache.zookeeper.server.NIOServerCnxnFactory"
}

// await waits until the server serves.
func (s *Server) await() error {
	ctx, cancel := context.WithTimeout(context.Background(), patience) //nolint:forbidigo // bounded by itself; it also runs when the test has ended
	defer cancel()
	ask := time.NewTicker(askEvery)
	defer ask.Stop()
	for {
		if s.Role() != "" {
			return nil
		}
		select {
		case <-ask.C:
		case <-s.process.ended:
			return fmt.Errorf("%s ended:\n%s", s.address, s.Output())
		case <-ctx.Done():
			return fmt.Errorf("%s does not serve:\n%s", s.address, s.Output())
		}
	}
}

// AwaitServing waits until the server serves, after other members of its ensemble were
// restarted.
func (s *Server) AwaitServing() {
	s.t.Helper()
	if err := s.await(); err != nil {
		s.t.Fatal(err)
	}
}

// Role returns standalone, leader or follower; empty if the server does not serve.
func (s *Server) Role() string {
	_, role, _ := strings.Cut(s.Ask("srvr"), "Mode: ")
	role, _, _ = strings.Cut(role, "\n")
	return role
}

// Ask sends a four-letter word; the answer is empty on failure.
func (s *Server) Ask(word string) string {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second) //nolint:forbidigo // bounded by itself; it also runs when the test has ended
	defer cancel()
	c, err := new(net.Dialer).DialContext(ctx, "tcp", s.address)
	if err != nil {
		return ""
	}
	defer func() { _ = c.Close() }() // nothing was written after the word
	deadline, _ := ctx.Deadline()
	_ = c.SetDeadline(deadline) // if it fails, so does what follows
	if _, err := io.WriteString(c, word); err != nil {
		return ""
	}
	answer, err := io.ReadAll(c)
	if err != nil {
		return ""
	}
	return string(answer)
}

// Output returns the end of the server's output.
func (s *Server) Output() string {
	text, err := os.ReadFile(filepath.Join(s.dir, "log"))
	if err != nil {
		return err.Error()
	}
	return string(text[max(0, len(text)-4000):])
}

// Kill ends the process at once, like kill -9.
func (s *Server) Kill() { end(s.process) }

func end(p *process) {
	_ = p.cmd.Process.Kill() // it may have ended
	<-p.ended
}

// Restart starts the server again with its data, and waits until it serves.
func (s *Server) Restart() {
	s.t.Helper()
	s.Kill()
	s.Launch()
	s.AwaitServing()
}

// Wipe removes all data of a killed server.
func (s *Server) Wipe() {
	s.t.Helper()
	data := filepath.Join(s.dir, "data")
	if err := os.RemoveAll(filepath.Join(data, "version-2")); err != nil {
		s.t.Fatal(err)
	}
}

// Signal sends a signal to the process, such as SIGSTOP to freeze it and SIGCONT to let it
// continue.
func (s *Server) Signal(sig os.Signal) {
	s.t.Helper()
	if err := s.process.cmd.Process.Signal(sig); err != nil {
		s.t.Fatal(err)
	}
}

// freePorts returns ports on which no process listens. If another process takes one first, the
// start is tried again.
func freePorts(t testing.TB, n int) []int {
	t.Helper()
	ports := make([]int, n)
	for i := range ports {
		l, err := new(net.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:0") //nolint:forbidigo // it lasts as long as the test binary
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = l.Close() }() // nothing was accepted
		ports[i] = l.Addr().(*net.TCPAddr).Port
	}
	return ports
}

// FreePort returns a free port, for Options.Lines.
func FreePort(t testing.TB) int {
	t.Helper()
	return freePorts(t, 1)[0]
}
