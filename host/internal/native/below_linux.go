package native

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/wasmjob/wasmjob/host/internal/backoff"
)

// becomeSubreaper makes processes below this one its own children when their parents
// end, even if they left session and group.
func becomeSubreaper() error {
	return os.NewSyscallError("prctl", unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0))
}

// endWithSupervisor makes the kernel kill the command when its supervisor is
// killed. What the command started is then found by its control group or its
// environment.
func endWithSupervisor(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGKILL }

// peak returns the largest memory that the command, or one of the processes that it
// waited for, used at any time.
func peak(usage *syscall.Rusage) int64 { return usage.Maxrss << 10 }

// process is a live process.
type process struct {
	pid, parent, group int
	start              string // when it started; tells it from a later process with the same number
	bare               bool   // it has no environment, and gets none unless it executes another program
}

// kernelThread is the flag of the kernel's own threads.
const kernelThread = 0x0020_0000

// processes returns all live processes that /proc shows.
func processes() ([]process, error) {
	names, err := numbers()
	if err != nil {
		return nil, err
	}
	var found []process
	for _, pid := range names {
		if p, ok := look(pid); ok {
			found = append(found, p)
		}
	}
	return found, nil
}

// numbers returns the numbers of all processes.
func numbers() ([]int, error) {
	proc, err := os.Open("/proc")
	if err != nil {
		return nil, err
	}
	defer proc.Close() //nolint:errcheck // it was only read
	names, err := proc.Readdirnames(-1)
	if err != nil {
		return nil, fmt.Errorf("list the processes: %w", err)
	}
	var pids []int
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids, nil
}

// look reads one process. ok is false for a process that has ended, even if its
// parent has not waited for it yet.
func look(pid int) (process, bool) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return process{}, false
	}
	// The name in parentheses may have anything in it.
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	// Positions after the name; see proc_pid_stat(5).
	const state, parent, group, flags, start, codeEnd, envStart, envEnd = 0, 1, 2, 6, 19, 24, 47, 48
	if len(fields) <= envEnd || fields[state] == "Z" || fields[state] == "X" {
		return process{}, false
	}
	p := process{pid: pid, start: fields[start]}
	set, err := strconv.ParseUint(fields[flags], 10, 64)
	if err != nil {
		return process{}, false
	}
	// During an exec the environment is empty for a moment. The kernel sets the end of the
	// code after the environment, and shows it in a field before.
	became := fields[codeEnd] != "0"
	p.bare = set&kernelThread != 0 || became && fields[envEnd] == fields[envStart] && fields[envEnd] != "0"
	p.parent, err = strconv.Atoi(fields[parent])
	if err != nil {
		return process{}, false
	}
	p.group, err = strconv.Atoi(fields[group])
	return p, err == nil
}

// below returns all descendants of a process.
func below(root int) ([]process, error) {
	all, err := processes()
	if err != nil {
		return nil, err
	}
	children := map[int][]process{}
	for _, p := range all {
		children[p.parent] = append(children[p.parent], p)
	}
	found := slices.Clone(children[root])
	for i := 0; i < len(found); i++ {
		found = append(found, children[found[i].pid]...)
	}
	return found, nil
}

// send signals a process. same must confirm that the number still belongs to that
// process, and not to a later one.
func send(pid int, sig syscall.Signal, same func() bool) error {
	p, err := os.FindProcess(pid) // from here on the number cannot pass to another process
	if err != nil {
		return nil // the process has ended
	}
	defer p.Release() //nolint:errcheck // nothing can be done
	if !same() {
		return nil
	}
	if err := p.Signal(sig); errors.Is(err, syscall.EPERM) {
		return err
	}
	return nil
}

// signalBelow signals everything below this process once: the command's group at one
// moment, and the processes outside of the group one by one.
func signalBelow(command int, sig syscall.Signal) {
	all, _ := below(os.Getpid()) // without /proc only the group is known
	_ = syscall.Kill(-command, sig)
	for _, p := range all {
		if p.group != command {
			_ = send(p.pid, sig, func() bool { again, ok := look(p.pid); return ok && again.start == p.start })
		}
	}
}

// untilEnded returns the pauses between two checks of processes that have to end.
func untilEnded() backoff.Backoff {
	return backoff.Backoff{First: time.Millisecond, Last: 50 * time.Millisecond}
}

// endBelow kills everything below this process and waits for it. It returns the processes
// of other users, which it cannot kill. It needs no number of the command, as other
// systems do: the caller has waited for the command already, so that number may belong to
// another process.
func endBelow(int) (left []int) {
	for pauses := untilEnded(); ; {
		if !childrenLeft() {
			return nil // a process without children has no descendants
		}
		all, err := below(os.Getpid())
		if err != nil {
			return []int{-1} // processes are left, but which ones is not known
		}
		left = nil
		for _, p := range all {
			same := func() bool { again, ok := look(p.pid); return ok && again.start == p.start }
			if send(p.pid, syscall.SIGKILL, same) != nil {
				left = append(left, p.pid)
			}
		}
		if len(all) > 0 && len(left) == len(all) { // nothing more can be done
			return left
		}
		time.Sleep(pauses.Next())
	}
}

// childrenLeft waits for the children that have ended, and reports whether there
// are others.
func childrenLeft() bool {
	for {
		pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil)
		switch {
		case errors.Is(err, syscall.EINTR), err == nil && pid > 0:
		default:
			return err == nil
		}
	}
}
