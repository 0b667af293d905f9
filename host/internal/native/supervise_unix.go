//go:build unix

package native

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"syscall"
)

// exitMisuse is how a supervisor ends that no server has started.
const exitMisuse = 2

// Supervise is the process between a server and one command: args are the path of
// the program and its words. It begins when the server says so, and ends after the
// command and all that this started. What the command's processes do to leave
// their group or session does not matter: they stay below this one. If the pipe
// from the server ends, they are ended at once.
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
	first := make([]byte, 1)
	if _, err := io.ReadFull(server, first); err != nil {
		return 0 // the server is gone, and nothing has begun
	}
	how := supervise(args, server)
	if err := json.NewEncoder(report).Encode(how); err != nil {
		return 1 // nobody listens any more
	}
	return 0
}

// supervise runs the command, and returns when nothing is left of it.
func supervise(args []string, server io.Reader) ending {
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
	p, err := os.StartProcess(args[0], args[1:], &os.ProcAttr{ //nolint:gosec // that is what the operator allowed
		Env: belonging(os.Environ()), Files: []*os.File{null, os.Stdout, os.Stderr}, Sys: attr,
	})
	if err != nil {
		return ending{Fault: err.Error()}
	}
	pid := p.Pid
	go obey(server, pid) // it ends with the process
	how := bury(pid)
	how.Left = endBelow(pid)
	return how
}

// obey does what the server says, until that ends.
func obey(server io.Reader, leader int) {
	b := make([]byte, 1)
	for {
		if _, err := io.ReadFull(server, b); err != nil {
			signalBelow(leader, syscall.SIGKILL)
			return // what is begun meanwhile is ended when the leader is
		}
		if b[0] == toAsk {
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
