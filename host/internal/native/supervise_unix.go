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

// exitMisuse is the exit code of a supervisor that was not started by a server.
const exitMisuse = 2

// Supervise runs as the process between a server and one command; args are the path
// of the program and its arguments. It starts the command when the server says so,
// and returns after the command and all processes that it started have ended. These
// stay below this process, even if they leave their group or session. It kills them
// when the pipe from the server is closed, and when the lease ends before the
// server, which may hang, has renewed it.
func Supervise(args []string, server io.Reader, say io.Writer) (exit int) {
	var stat syscall.Stat_t
	if len(args) < 2 || syscall.Fstat(reportFD, &stat) != nil {
		fmt.Fprintln(say, "this program is started by a server, not by hand")
		return exitMisuse
	}
	// Terminals and service managers send these signals to every process they know.
	// Only the server decides when the command ends, so nothing reads the channel. Ignoring
	// the signals would make the command ignore them as well.
	signal.Notify(make(chan os.Signal, 1), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT)
	syscall.CloseOnExec(reportFD) // the command must not write the report
	report := os.NewFile(reportFD, "report")
	orders := listener{server: server}
	if !orders.begin() {
		return 0 // the server is gone before the command began
	}
	how := supervise(args, &orders)
	if err := json.NewEncoder(report).Encode(how); err != nil {
		return 1 // the server is gone
	}
	return 0
}

// supervise runs the command, and returns when none of its processes is left.
func supervise(args []string, orders *listener) ending {
	// The kernel kills the command when the thread that started it ends.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := becomeSubreaper(); err != nil {
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
	go orders.carryOut(pid) // ends with the process
	how := awaitCommand(pid)
	how.Lapsed = how.Code < 0 && orders.lapsed.Load() // otherwise the command ended by itself just before
	how.Left = endBelow(pid)
	return how
}

// listener receives the messages of the server.
type listener struct {
	server io.Reader
	until  int64 // end of the lease that was received last; 0: no limit
	lapsed atomic.Bool
}

// begin waits until the command may begin. It returns false if the server is gone.
func (l *listener) begin() bool {
	for {
		if what, err := l.receive(); err != nil || what == toBegin {
			return err == nil
		}
	}
}

// receive waits for the next message of the server.
func (l *listener) receive() (what byte, err error) {
	var word [leaseSize]byte
	if _, err := io.ReadFull(l.server, word[:1]); err != nil {
		return 0, err
	}
	what = word[0]
	if what == toLease {
		if _, err := io.ReadFull(l.server, word[:]); err != nil {
			return 0, err
		}
		l.until = int64(binary.BigEndian.Uint64(word[:]))
	}
	return what, nil
}

// carryOut carries out the messages of the server until the pipe is closed. When the
// lease ends, it kills the command even if the server is silent.
func (l *listener) carryOut(command int) {
	end := func() { signalBelow(command, syscall.SIGKILL) } // supervise ends processes started meanwhile, after the command has ended
	alarm := newAlarm(func() {
		l.lapsed.Store(true)
		end()
	})
	for {
		alarm.set(l.until)
		what, err := l.receive()
		if err != nil {
			end()
			return
		}
		if what == toAsk {
			signalBelow(command, syscall.SIGTERM)
		}
	}
}

// awaitCommand waits until the command, a child process, has ended. Meanwhile it reaps
// other children that end.
func awaitCommand(command int) ending {
	for {
		var status syscall.WaitStatus
		var usage syscall.Rusage
		pid, err := syscall.Wait4(-1, &status, 0, &usage)
		switch {
		case errors.Is(err, syscall.EINTR):
		case err != nil:
			return ending{Code: -1, State: err.Error()}
		case pid == command:
			return endingOf(status, &usage)
		}
	}
}

// endingOf says how a process ended, by its exit code or by a signal.
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

// belonging returns the environment of the command, which names its run.
func belonging(env []string) []string {
	for i, entry := range env {
		if mark, is := strings.CutPrefix(entry, superviseVar+"="); is {
			env[i] = belongVar + "=" + mark
		}
	}
	return env
}

// identity returns a text that is different for every open file: device and inode.
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
