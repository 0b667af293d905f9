package native

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/wasmjob/wasmjob/host/job"
)

// endTimeout is how long Open waits for processes of an earlier server to end, and a run
// for those of its command.
const endTimeout = 15 * time.Second

// Options configure Commands.
type Options struct {
	// Dir stores the name of the control group for the next server with the same Dir.
	Dir string
	// Lock is a file below Dir that no other server has open. Its inode number and
	// device identify the commands of this Dir among all others.
	Lock *os.File
	// Supervisor is the command line of a program that calls Supervise.
	Supervisor []string
	// Allowed: commands may run; else Open only ends those of an earlier server.
	Allowed bool
	Log     *slog.Logger
}

// Commands are the commands that one server runs.
type Commands struct {
	o           Options
	mark        string // identifies all processes of this Dir; stands in their environment
	parentGroup string // parent of the control groups of all commands; empty: there are none
	stop        chan struct{}
	idle        chan struct{} // closed when closed is set and no command runs

	mu      sync.Mutex // guards the fields below
	begun   int
	running int
	closed  bool
}

// Open ends processes that an earlier server with the same directory has left, and
// prepares to run commands. Its error names processes that it could not end.
func Open(ctx context.Context, o Options) (*Commands, error) {
	mark, err := identity(o.Lock)
	if err != nil {
		return nil, fmt.Errorf("identify the lock file: %w", err)
	}
	c := &Commands{o: o, mark: mark, stop: make(chan struct{}), idle: make(chan struct{})}
	ctx, cancel := context.WithTimeout(ctx, endTimeout)
	defer cancel()
	grouped, err := c.endGroups(ctx)
	if err != nil {
		return nil, err
	}
	others, err := endMarked(ctx, mark+".")
	if err != nil {
		return nil, err
	}
	if grouped || others {
		o.Log.Warn("ended processes that commands of an earlier server had left running")
	}
	c.parentGroup, err = ownGroup(ctx, o.Dir, mark)
	if err != nil {
		level := slog.LevelDebug
		if o.Allowed {
			level = slog.LevelWarn
		}
		o.Log.Log(ctx, level, "commands get no control group, so what they leave running may outlive a killed server", "reason", err)
	}
	return c, nil
}

// New parses a command line as job.SplitCommand does.
func (c *Commands) New(line string) (*Command, error) {
	words, err := job.SplitCommand(line)
	if err != nil {
		return nil, err
	}
	return &Command{args: words, all: c}, nil
}

// End ends all commands at once and prevents new ones. It returns when their
// processes are gone, or ctx ends.
func (c *Commands) End(ctx context.Context) {
	c.mu.Lock()
	if !c.closed {
		c.closed = true
		close(c.stop)
		if c.running == 0 {
			close(c.idle)
		}
	}
	c.mu.Unlock()
	select {
	case <-c.idle:
		c.Close()
	case <-ctx.Done():
	}
}

// Close removes the control group. Call it when no command runs any more.
func (c *Commands) Close() {
	if c.parentGroup != "" {
		_ = os.Remove(c.parentGroup) // if it cannot be removed, the next server does that
	}
}

// begin counts a run. If ok is true, the caller must call ended.
func (c *Commands) begin() (mark string, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return "", false
	}
	c.begun++
	c.running++
	return fmt.Sprintf("%s.%d.", c.mark, c.begun), true
}

// ended ends a run that begin has counted.
func (c *Commands) ended() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.running--; c.running == 0 && c.closed {
		close(c.idle)
	}
}

// supervised is a running command together with its supervisor.
type supervised struct {
	all      *Commands
	cmd      *exec.Cmd
	control  *os.File // the pipe to the supervisor, which ends the command when it is closed
	report   *os.File // the pipe on which the supervisor sends the ending
	mark     string
	group    string // control group of the command; empty: it has none
	leaseEnd int64  // end of the lease that was sent last, by bootTime; 0: unlimited
}

// start starts a program under a supervisor. mark identifies the run, and out and err
// receive the program's output. The caller must call wait.
func (c *Commands) start(words []string, mark string, leaseEnd int64, env []string, out, err io.Writer) (*supervised, error) {
	path, fault := exec.LookPath(words[0])
	if fault != nil && !strings.ContainsRune(words[0], os.PathSeparator) {
		return nil, fault //nolint:wrapcheck // it names the program
	}
	if fault != nil {
		path = words[0] // the system's own error says more
	}
	orders, control, fault := os.Pipe()
	if fault != nil {
		return nil, fault
	}
	defer orders.Close() //nolint:errcheck // the supervisor has its own copy of this end, and reads from it
	report, reportTo, fault := os.Pipe()
	if fault != nil {
		return nil, errors.Join(fault, control.Close())
	}
	defer reportTo.Close() //nolint:errcheck // as above
	s := &supervised{all: c, control: control, report: report, mark: mark, leaseEnd: leaseEnd}
	fault = s.launch(append([]string{path}, words...), env, orders, reportTo, out, err)
	if fault == nil {
		return s, nil
	}
	return nil, errors.Join(fault, control.Close(), report.Close())
}

// launch starts the supervisor, in a control group if possible. The supervisor reads
// orders and writes the ending to reportTo. args are the path of the program and its
// command line.
func (s *supervised) launch(args, env []string, orders, reportTo *os.File, out, err io.Writer) error {
	line := s.all.o.Supervisor
	command := func() *exec.Cmd {
		cmd := exec.Command(line[0], append(slices.Clip(line[1:]), args...)...) //nolint:gosec,noctx // the operator allowed it; a pipe ends the supervisor
		cmd.Args[0] = os.Args[0]                                                // the supervisor appears under the name of this process
		cmd.Env = append(slices.Clip(env), superviseVar+"="+s.mark)
		cmd.Stdin, cmd.Stdout, cmd.Stderr = orders, out, err
		cmd.ExtraFiles = []*os.File{reportTo}
		cmd.WaitDelay = pipeDelay
		return cmd
	}
	if s.group = s.all.makeGroup(s.mark); s.group != "" {
		s.cmd = command()
		fault := startIn(s.cmd, s.group)
		if fault == nil {
			s.begin()
			return nil
		}
		s.all.o.Log.Debug("a command gets no control group", "reason", errors.Join(fault, os.Remove(s.group)))
	}
	s.group, s.cmd = "", command() // a new one, because a Cmd can be started only once
	inOwnSession(s.cmd)
	if fault := s.cmd.Start(); fault != nil {
		return fmt.Errorf("its supervisor: %w", fault)
	}
	s.begin()
	return nil
}

// begin lets the command begin, with the current lease.
func (s *supervised) begin() { s.write(append(leaseMessage(s.leaseEnd), toBegin)...) }

// renewUntil renews the lease: until that time the run may go on without this process.
func (s *supervised) renewUntil(until int64) {
	s.leaseEnd = until
	s.write(leaseMessage(until)...)
}

// ask asks the command, and all processes that it started, to end.
func (s *supervised) ask() { s.write(toAsk) }

// write sends bytes to the supervisor. It does not wait long for a supervisor that
// does not read, and ignores one that is gone.
func (s *supervised) write(what ...byte) {
	_ = s.control.SetWriteDeadline(time.Now().Add(checkEvery))
	_, _ = s.control.Write(what)
}

// end kills the command, and all processes that it started.
func (s *supervised) end() { _ = s.control.Close() } // closing it again does nothing

// wait returns when the command and all processes that it started have ended. ctx
// bounds only the clean-up; a caller that wants the command to end calls end.
func (s *supervised) wait(ctx context.Context) (ending, error) {
	err := s.cmd.Wait() // of the supervisor
	s.end()
	var how ending
	text, readErr := io.ReadAll(io.LimitReader(s.report, maxEnding))
	_ = s.report.Close() // it was only read
	lost := readErr != nil || json.Unmarshal(text, &how) != nil
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTimeout)
	defer cancel()
	if lost {
		// The supervisor was killed, so processes below it may still run.
		how = ending{Code: -1, State: fmt.Sprintf("its supervisor ended before it (%v)", s.cmd.ProcessState)}
	}
	var left error
	if s.group != "" {
		left = endGroup(ctx, s.group)
	}
	if lost {
		_, fault := endMarked(ctx, s.mark)
		left = errors.Join(left, fault)
	} else if len(how.Left) > 0 && (s.group == "" || left != nil) { // otherwise the group has ended them
		left = fmt.Errorf("%w: %v", errOtherUser, how.Left)
	}
	if left != nil {
		s.all.o.Log.Error("a command has ended, but processes that it started still run", "error", left)
	}
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) || errors.Is(err, exec.ErrWaitDelay) {
		err = nil // the ending describes it
	}
	return how, err
}

// errOtherUser is returned for processes that the server has no permission to end.
var errOtherUser = errors.New("processes of another user cannot be ended; end them by hand")
