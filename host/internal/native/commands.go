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

// patience is how long what an earlier server left may take to end before the
// next one gives up.
const patience = 15 * time.Second

// Options of Commands.
type Options struct {
	// Dir is where it is kept what the next server on it has to know.
	Dir string
	// Lock is a file that no other server has open, on the same Dir. Its number on
	// its device tells the commands of this Dir from those of any other.
	Lock *os.File
	// Supervisor is the command line of a program that calls Supervise.
	Supervisor []string
	Log        *slog.Logger
}

// Commands are all that one server runs.
type Commands struct {
	o    Options
	mark string // what all processes of this Dir have in their environment
	own  string // control group that holds those of all commands; empty: there are none
	stop chan struct{}
	none chan struct{} // closed when over is set and nothing runs

	mu      sync.Mutex // guards what follows
	begun   int
	running int
	over    bool
}

// Open ends what an earlier server on the same directory has left, and makes ready
// for commands. Its error says what could not be ended.
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
		o.Log.Warn("commands of an earlier server had left processes running; they were ended before a job began")
	}
	c.own, err = ownGroup(ctx, o.Dir, mark)
	if err != nil {
		o.Log.Debug("commands get no control group", "reason", err)
	}
	return c, nil
}

// New reads a command line as job.SplitCommand does.
func (c *Commands) New(line string) (*Command, error) {
	words, err := job.SplitCommand(line)
	if err != nil {
		return nil, err
	}
	return &Command{words: words, all: c}, nil
}

// End ends all that runs, at once, and lets nothing begin any more. It returns
// when the processes are gone, or ctx is over.
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

// Close is for when nothing runs any more.
func (c *Commands) Close() {
	if c.own != "" {
		_ = os.Remove(c.own) // the next server finds it
	}
}

// begin counts a run in. Whoever is let in calls ended.
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

// supervised is a command that runs, with what is between it and the server.
type supervised struct {
	all   *Commands
	cmd   *exec.Cmd
	hold  *os.File // the command may run as long as this is open
	said  *os.File
	mark  string
	group string // its control group; empty: it has none
	last  int64  // until when it was vouched for last, by bootTime; 0: for ever
}

// start starts a program under a supervisor. Whoever gets it calls wait.
func (c *Commands) start(words []string, mark string, last int64, env []string, out, err io.Writer) (*supervised, error) {
	path, fault := exec.LookPath(words[0])
	if fault != nil && !strings.ContainsRune(words[0], os.PathSeparator) {
		return nil, fault //nolint:wrapcheck // it names the program
	}
	if fault != nil {
		path = words[0] // the system has better words for it
	}
	life, hold, fault := os.Pipe()
	if fault != nil {
		return nil, fault
	}
	defer life.Close() //nolint:errcheck // the supervisor has its own
	said, say, fault := os.Pipe()
	if fault != nil {
		return nil, errors.Join(fault, hold.Close())
	}
	defer say.Close() //nolint:errcheck // as well
	s := &supervised{all: c, hold: hold, said: said, mark: mark, last: last}
	fault = s.launch(append([]string{path}, words...), env, life, say, out, err)
	if fault == nil {
		return s, nil
	}
	return nil, errors.Join(fault, hold.Close(), said.Close())
}

// launch starts the supervisor, in a control group if that is possible.
func (s *supervised) launch(args, env []string, life, say *os.File, out, err io.Writer) error {
	line := s.all.o.Supervisor
	command := func() *exec.Cmd {
		cmd := exec.Command(line[0], append(slices.Clip(line[1:]), args...)...) //nolint:gosec,noctx // that is what the operator allowed; the supervisor is told to end
		cmd.Args[0] = os.Args[0]                                                // it goes by the name of this process
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

// begin lets the command begin, as long as it is vouched for.
func (s *supervised) begin() { s.tell(append(lasting(s.last), toBegin)...) }

// vouch says until when the run may go on without this process.
func (s *supervised) vouch(until int64) {
	s.last = until
	s.tell(lasting(until)...)
}

// ask asks the command, and all that it started, to end.
func (s *supervised) ask() { s.tell(toAsk) }

// tell does not wait for a supervisor that does not read, and need not for one that
// is gone.
func (s *supervised) tell(what ...byte) {
	_ = s.hold.SetWriteDeadline(time.Now().Add(askEvery))
	_, _ = s.hold.Write(what)
}

// end ends the command, and all that it started, at once.
func (s *supervised) end() { _ = s.hold.Close() } // once is enough

// wait returns when the command and all that it started have ended. The end of ctx
// is for others to notice.
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
		// Somebody ended the supervisor, and what it held may still run.
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
		s.all.o.Log.Error("a command has ended, and what it started goes on", "error", left)
	}
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) || errors.Is(err, exec.ErrWaitDelay) {
		err = nil // the ending tells it
	}
	return how, err
}

// errForeign is about processes that this server may not end.
var errForeign = errors.New("processes of another user cannot be ended; end them by hand")
