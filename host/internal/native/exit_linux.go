package native

import (
	"errors"
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// endWithServer ends the command when the server dies: another server may run the
// item then.
func endWithServer(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGKILL }

// await waits for the command and calls ended before the process is taken away:
// until then its number belongs to it, and so does its group.
func await(cmd *exec.Cmd, ended func()) error {
	for {
		err := unix.Waitid(unix.P_PID, cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, syscall.EINTR) {
			break // what else is wrong, Wait finds, too
		}
	}
	ended()
	return cmd.Wait() //nolint:wrapcheck // whoever calls await reads it as if it were Wait
}

// peak is the most memory that the command, or one of the processes that it
// waited for, had at once.
func peak(state *os.ProcessState) int64 {
	usage, ok := state.SysUsage().(*syscall.Rusage)
	if !ok {
		return 0
	}
	return usage.Maxrss << 10
}
