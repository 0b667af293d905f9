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

// patience is how long Open waits for processes of an earlier server to end.
const patience = 15 * time.Second

// Options configure Commands.
type Options struct {
	// Dir holds what the next server with the same Dir has to know.
	Dir string
	// Lock is a file below Dir that no other server has open. Its inode number and
	// device identify the commands of this Dir among all others.
	Lock *os.File
	// Supervisor is the command line of a program that calls Supervise.
	Supervisor []string
	Log        *slog.Logger
}

// Commands are the commands that one server runs.
type Commands struct {
	o    Options
	mark string // identifies all processes of this Dir; stands in their environment
	own  string // control group above those of all commands; empty: there are none
	stop chan struct{}
	none chan struct{} // closed when over is set and nothing runs

	mu      sync.Mutex // guards the fields below
	begun   int
	running int
	over    bool
}

// Open ends processes that an earlier server with the same directory has left, and
// prepares to run commands. Its error says what could not be ended.
func Open(ctx context.Context, o Options) (*Commands, error) {
	mark, err := identity(o.Lock)
	if err != nil {
		return nil, fmt.Errorf("tell the commands of this server from others: %w", err)
	}
	c := &Commands{o: o, mark: mark, stop: make(chan struct{}), none: make(chan struct{})}
	ctx, cancel := context.WithTimeout(ctx, patience)
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
	c.own, err = ownGroup(ctx, o.Dir, mark)
	if err != nil {
		o.Log.Debug("commands get no control group", "reason", err)
	}
	return c, nil
}

// New parses a command line as job.SplitCommand does.
func (c *Commands) New(line string) (*Command, error) {
	words, err := job.SplitCommand(line)
	if err != nil {
		return nil, err
	}
	return &Command{words: words, all: c}, nil
}

// End ends all commands at once and prevents new ones. It returns when their
// processes are gone, or ctx ends.
func (c *Commands) End(ctx context.Context) {
	c.mu.Lock()
	if !c.over {
		c.over = true
		close(c.stop)
		if c.running == 0 {
			close(c.none)
		}
	}
	c.mu.Unlock()
	select {
	case <-c.none:
		c.Close()
	case <-ctx.Done():
	}
}

// Close removes the control group. Call it when no command runs any more.
func (c *Commands) Close() {
	if c.own != "" {
		_ = os.Remove(c.own) // if it cannot be removed, the next server does that
	}
}

// begin counts a run. If ok is true, the caller must call ended.
func (c *Commands) begin() (mark string, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over {
		return "", false
	}
	c.begun++
	c.running++
	return fmt.Sprintf("%s.%d.", c.mark, c.begun), true
}

func (c *Commands) ended() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.running--; c.running == 0 && c.over {
		close(c.none)
	}
}

// supervised is a running command together with its supervisor.
type supervised struct {
	all   *Commands
	cmd   *exec.Cmd
	hold  *os.File // the pipe to the supervisor, which ends the command when it is closed
	said  *os.File
	mark  string
	group string // control group of the command; empty: it has none
	last  int64  // end of the lease that was sent last, by bootTime; 0: unlimited
}

// start starts a program under a supervisor. The caller must call wait.
func (c *Commands) start(words []string, mark string, last int64, env []string, out, err io.Writer) (*supervised, error) {
	path, fault := exec.LookPath(words[0])
	if fault != nil && !strings.ContainsRune(words[0], os.PathSeparator) {
		return nil, fault //nolint:wrapcheck // it names the program
	}
	if fault != nil {
		path = words[0] // the system's own error says more
	}
	life, hold, fault := os.Pipe()
	if fault != nil {
		return nil, fault
	}
	defer life.Close() //nolint:errcheck // the supervisor has its own copy
	said, say, fault := os.Pipe()
	if fault != nil {
		return nil, errors.Join(fault, hold.Close())
	}
	defer say.Close() //nolint:errcheck // as above
	s := &supervised{all: c, hold: hold, said: said, mark: mark, last: last}
	fault = s.launch(append([]string{path}, words...), env, life, say, out, err)
	if fault == nil {
		return s, nil
	}
	return nil, errors.Join(fault, hold.Close(), said.Close())
}

// launch starts the supervisor, in a control group if possible.
func (s *supervised) launch(args, env []string, life, say *os.File, out, err io.Writer) error {
	line := s.all.o.Supervisor
	command := func() *exec.Cmd {
		cmd := exec.Command(line[0], append(slices.Clip(line[1:]), args...)...) //nolint:gosec,noctx // that is what the operator allowed; the supervisor is told to end
		cmd.Args[0] = os.Args[0]                                                // the supervisor appears under the name of this process
		cmd.Env = append(slices.Clip(env), superviseVar+"="+s.mark)
		cmd.Stdin, cmd.Stdout, cmd.Stderr = life, out, err
		cmd.ExtraFiles = []*os.File{say}
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
	s.group, s.cmd = "", command()
	apart(s.cmd)
	if fault := s.cmd.Start(); fault != nil {
		return fmt.Errorf("its supervisor: %w", fault)
	}
	s.begin()
	return nil
}

// begin lets the command begin, with the current lease.
func (s *supervised) begin() { s.tell(append(lasting(s.last), toBegin)...) }

// vouch extends the lease: until that time the run may go on without this process.
func (s *supervised) vouch(until int64) {
	s.last = until
	s.tell(lasting(until)...)
}

// ask asks the command, and all processes that it started, to end.
func (s *supervised) ask() { s.tell(toAsk) }

// tell sends bytes to the supervisor. It does not wait long for a supervisor that
// does not read, and ignores one that is gone.
func (s *supervised) tell(what ...byte) {
	_ = s.hold.SetWriteDeadline(time.Now().Add(askEvery))
	_, _ = s.hold.Write(what)
}

// end kills the command, and all processes that it started.
func (s *supervised) end() { _ = s.hold.Close() } // closing it again does nothing

// wait returns when the command and all processes that it started have ended. ctx
// bounds only the clean-up; a caller that wants the command to end calls end.
func (s *supervised) wait(ctx context.Context) (ending, error) {
	err := s.cmd.Wait()
	s.end()
	var how ending
	text, readErr := io.ReadAll(io.LimitReader(s.said, maxEnding))
	_ = s.said.Close() // it was only read
	lost := readErr != nil || json.Unmarshal(text, &how) != nil
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
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
	} else if len(how.Left) > 0 && (s.group == "" || left != nil) {
		left = fmt.Errorf("%w: %v", errForeign, how.Left)
	}
	if left != nil {
		s.all.o.Log.Error("a command has ended, but processes that it started still run", "error", left)
	}
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) || errors.Is(err, exec.ErrWaitDelay) {
		err = nil // the ending says it
	}
	return how, err
}

// errForeign: the server has no permission to end these processes.
var errForeign = errors.New("processes of another user cannot be ended; end them by hand")
