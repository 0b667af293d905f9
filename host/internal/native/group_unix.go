//go:build unix

package native

import (
	"os"
	"os/exec"
	"syscall"
)

// ownGroup makes the command the leader of a group of processes, so that all
// that it starts can be ended with it.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	endWithServer(cmd.SysProcAttr)
}

// terminate asks the group to end.
func terminate(leader *os.Process) { _ = syscall.Kill(-leader.Pid, syscall.SIGTERM) } // it may be over

// kill ends the group at once.
func kill(leader *os.Process) { _ = syscall.Kill(-leader.Pid, syscall.SIGKILL) } // it may be over
