package faults

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/wasmjob/wasmjob/host/reason"
	"github.com/wasmjob/wasmjob/host/trace"
)

// server is the place of a wasmjobd process, running or not.
type server struct {
	cluster  *cluster
	machine  machine
	program  string   // path of its program
	settings []string // variables that change its configuration
	dir      string
	zk       []string // the ZooKeeper servers that it connects to
	running  *process
}

// process is one process of a server.
type process struct {
	cmd   *exec.Cmd
	asked bool // it was asked to end
	ended chan struct{}
	err   error // valid once ended is closed
}

// command returns a command of the server's program with its configuration.
func (s *server) command(args ...string) *exec.Cmd {
	c := s.cluster
	self, err := os.Executable()
	if err != nil {
		c.Fatal(err)
	}
	for _, file := range c.files {
		args = append(args, "--config", file)
	}
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Env = append(os.Environ(),
		"IP="+s.machine.ip, "NAMESPACE="+c.name, "SESSION="+session.String(),
		"DATA="+filepath.Join(workDir(c), "data-"+s.machine.ip), "HISTORY="+filepath.Join(s.dir, "history.db"),
		"EVIDENCE="+filepath.Dir(c.lines.name), "GUEST="+filepath.Join(workDir(c), "..", "guest.wasm"), "COMMAND="+self,
		fmt.Sprintf("SLOW_EVERY=%d", c.slow.every/time.Second), fmt.Sprintf("SLOW_LASTS=%d", c.slow.lasts.Milliseconds()),
		fmt.Sprintf("COMMAND_LASTS=%d", (c.slow.every+c.slow.lasts).Milliseconds()/2))
	for i := range 3 { // as many as in the file
		address := fmt.Sprintf("127.0.0.%d:1", i+1) // no server listens there
		if i < len(s.zk) {
			address = s.zk[i]
		}
		cmd.Env = append(cmd.Env, fmt.Sprintf("ZK%d=%s", i+1, address))
	}
	cmd.Env = append(cmd.Env, s.settings...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	return cmd
}

// built is the program as built by make.
const built = "../../build/wasmjobd"

// verb returns a command as an operator runs it.
func (s *server) verb(args ...string) *exec.Cmd {
	return s.command(append([]string{s.program}, args...)...)
}

// start starts a process.
func (s *server) start() {
	c := s.cluster
	c.Helper()
	log, err := os.OpenFile(filepath.Join(s.dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		c.Fatal(err)
	}
	s.launch(log)
}

// launch starts a process that logs to a file, which is closed at its end.
func (s *server) launch(log *os.File) {
	c := s.cluster
	c.Helper()
	p := &process{cmd: s.command(append(s.machine.enter(), s.program, "serve")...), ended: make(chan struct{})}
	p.cmd.Stdout, p.cmd.Stderr = log, log
	if err := p.cmd.Start(); err != nil {
		c.Fatal(err)
	}
	go func() {
		defer close(p.ended)
		p.err = errors.Join(p.cmd.Wait(), log.Close())
	}()
	s.running = p
}

// signal signals the process, which may have ended already.
func (s *server) signal(sig syscall.Signal) { _ = s.running.cmd.Process.Signal(sig) }

// kill ends the process like a power failure.
func (s *server) kill() {
	s.running.asked = true
	s.signal(syscall.SIGKILL)
	<-s.running.ended
}

// stop stops the server's process as an operator does and returns its error.
func (s *server) stop() error {
	s.cluster.Helper()
	s.askToStop()
	return s.stopped()
}

func (s *server) askToStop() {
	s.running.asked = true
	s.signal(syscall.SIGTERM)
}

// errStuck means that a server does not stop although it was asked to.
var errStuck = errors.New("does not stop")

// stopped waits for the requested end.
func (s *server) stopped() error {
	late := time.NewTimer(patience)
	defer late.Stop()
	select {
	case <-s.running.ended:
		if s.running.err != nil {
			return fmt.Errorf("%s ended with %w\n%s", s.machine.ip, s.running.err, s.log())
		}
		return nil
	case <-late.C:
		s.kill()
		return fmt.Errorf("%s %w\n%s", s.machine.ip, errStuck, s.log())
	}
}

// log returns the end of the server's log.
func (s *server) log() string {
	text, err := os.ReadFile(filepath.Join(s.dir, "log"))
	if err != nil {
		return err.Error()
	}
	return string(text[max(0, len(text)-4000):])
}

// rows returns the rows of the server's history.
func (s *server) rows() []trace.Row {
	c := s.cluster
	c.Helper()
	var rows []trace.Row
	for cursor := ""; ; {
		cmd := s.verb("history", "list", "-o", "json", "--limit", "1000", "--cursor", cursor)
		cmd.Stderr = os.Stderr
		out, err := cmd.Output()
		if err != nil {
			c.Fatalf("read the history of %s: %v", s.machine.ip, err)
		}
		var page struct {
			Rows []struct {
				Job      string
				Item     int
				Run      string
				Attempt  int
				Instant  int64 `json:"instant_unix_ms"`
				Last     int64 `json:"last_unix_ms"`
				Count    int64
				Cause    trace.Cause
				State    trace.State
				Reason   string
				Instance string
				Start    int64 `json:"start_unix_ms"`
				End      int64 `json:"end_unix_ms"`
				Fence    int64
			}
			Next string
		}
		if err := json.Unmarshal(out, &page); err != nil {
			c.Fatalf("read the history of %s: %v", s.machine.ip, err)
		}
		for _, r := range page.Rows {
			rows = append(rows, trace.Row{Job: r.Job, Item: r.Item, Run: r.Run, Attempt: r.Attempt, Instant: r.Instant, Last: r.Last, Count: r.Count,
				Cause: r.Cause, State: r.State, Reason: reason.Read("", r.Reason), Instance: r.Instance, Start: r.Start, End: r.End, Fence: r.Fence})
		}
		if cursor = page.Next; cursor == "" {
			return rows
		}
	}
}
