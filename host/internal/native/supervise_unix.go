//go:build unix

package native

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
)

// exitMisuse is how a supervisor ends that no server has started.
const exitMisuse = 2

// Supervise is the process between a server and one command: args are the path of
// the program and its words. It begins when the server says so, and ends after the
// command and all that this started. What the command's processes do to leave
// their group or session does not matter: they stay below this one. If the pipe
// from the server ends, they are ended at once; and if the server, which may hang,
// has not said in time that the run may go on.
func Supervise(args []string, server io.Reader, say io.Writer) (exit int) {
	var stat syscall.Stat_t
	if len(args) < 2 || syscall.Fstat(sayFD, &stat) != nil {
		fmt.Fprintln(say, "a server starts this command; there is nothing to see for people")
		return exitMisuse
	}
	// A terminal and a service manager send these to all that they see. Here the
	// server alone decides.
	signal.Notify(make(chan os.Signal, 1), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT)
	syscall.CloseOnExec(sayFD)
	report := os.NewFile(sayFD, "report")
	orders := listener{server: server}
	if !orders.begin() {
		return 0 // the server is gone, and nothing has begun
	}
	how := supervise(args, &orders)
	if err := json.NewEncoder(report).Encode(how); err != nil {
		return 1 // nobody listens any more
	}
	return 0
}

// supervise runs the command, and returns when nothing is left of it.
func supervise(args []string, orders *listener) ending {
	// The kernel ends the command with the thread that has started it.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := adopt(); err != nil {
		return ending{Fault: fmt.Sprintf("keep what it starts together: %v", err)}
	}
	null, err := os.Open(os.DevNull)
	if err != nil {
		return ending{Fault: err.Error()}
	}
	attr := &syscall.SysProcAttr{Setpgid: true}
	endWithSupervisor(attr)
	p, err := os.StartProcess(args[0], args[1:], &os.ProcAttr{
		Env: belonging(os.Environ()), Files: []*os.File{null, os.Stdout, os.Stderr}, Sys: attr,
	})
	if err != nil {
		return ending{Fault: err.Error()}
	}
	pid := p.Pid
	go orders.obey(pid) // it ends with the process
	how := bury(pid)
	how.Lapsed = how.Code < 0 && orders.lapsed.Load() // else it has ended by itself just then
	how.Left = endBelow(pid)
	return how
}

// listener hears what the server says.
type listener struct {
	server io.Reader
	until  int64 // until when the server vouches, as it said last; 0: for ever
	lapsed atomic.Bool
}

// begin waits until the command may begin; false: the server is gone.
func (l *listener) begin() bool {
	for {
		if what, err := l.hear(); err != nil || what == toBegin {
			return err == nil
		}
	}
}

// hear waits for the next word of the server.
func (l *listener) hear() (what byte, err error) {
	var word [lastSize]byte
	if _, err := io.ReadFull(l.server, word[:1]); err != nil {
		return 0, err
	}
	what = word[0]
	if what == toLast {
		if _, err := io.ReadFull(l.server, word[:]); err != nil {
			return 0, err
		}
		l.until = int64(binary.BigEndian.Uint64(word[:]))
	}
	return what, nil
}

// obey does what the server says, until that ends. Who does not say anything any
// more is not waited for.
func (l *listener) obey(leader int) {
	end := func() { signalBelow(leader, syscall.SIGKILL) } // what is begun meanwhile is ended when the leader is
	alarm := newAlarm(func() {
		l.lapsed.Store(true)
		end()
	})
	for {
		alarm.set(l.until)
		what, err := l.hear()
		if err != nil {
			end()
			return
		}
		if what == toAsk {
			signalBelow(leader, syscall.SIGTERM)
		}
	}
}

// bury waits for the command, and takes away what is over of the rest.
func bury(leader int) ending {
	for {
		var status syscall.WaitStatus
		var usage syscall.Rusage
		pid, err := syscall.Wait4(-1, &status, 0, &usage)
		switch {
		case errors.Is(err, syscall.EINTR):
		case err != nil:
			return ending{Code: -1, State: err.Error()}
		case pid == leader:
			return endingOf(status, &usage)
		}
	}
}

func endingOf(status syscall.WaitStatus, usage *syscall.Rusage) ending {
	how := ending{Code: -1, Peak: peak(usage)}
	if status.Exited() {
		how.Code, how.State = status.ExitStatus(), fmt.Sprintf("exit status %d", status.ExitStatus())
		return how
	}
	how.State = "signal: " + status.Signal().String()
	if status.CoreDump() {
		how.State += " (core dumped)"
	}
	return how
}

// belonging is the environment of the command, whose run it can be told by.
func belonging(env []string) []string {
	for i, entry := range env {
		if mark, is := strings.CutPrefix(entry, superviseVar+"="); is {
			env[i] = belongVar + "=" + mark
		}
	}
	return env
}

// identity is what tells a file from every other that is open.
func identity(f *os.File) (string, error) {
	info, err := f.Stat()
	if err != nil {
		return "", err
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return "", errors.New("the file has no number")
	}
	return fmt.Sprintf("%x-%x", stat.Dev, stat.Ino), nil
}
