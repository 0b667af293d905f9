//go:build unix && !linux

package native

import (
	"os/exec"
	"syscall"
)

// becomeSubreaper does nothing on this system: a process that leaves its group is not
// found again.
func becomeSubreaper() error { return nil }

// endWithSupervisor does nothing on this system: a command outlives a supervisor
// that is killed.
func endWithSupervisor(*syscall.SysProcAttr) {}

func peak(*syscall.Rusage) int64 { return 0 }

// signalBelow signals the group of the command.
func signalBelow(command int, sig syscall.Signal) { _ = syscall.Kill(-command, sig) }

// endBelow kills the rest of the group. The caller has waited for the command
// already, so the number of the group may belong to another one.
func endBelow(command int) []int {
	_ = syscall.Kill(-command, syscall.SIGKILL)
	return nil
}

func inOwnSession(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }
