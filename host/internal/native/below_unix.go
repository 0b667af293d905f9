//go:build unix && !linux

package native

import (
	"os/exec"
	"syscall"
)

// adopt does nothing on this system: a process that leaves its group is not found
// again.
func adopt() error { return nil }

// endWithSupervisor does nothing on this system: a command outlives a supervisor
// that is killed.
func endWithSupervisor(*syscall.SysProcAttr) {}

func peak(*syscall.Rusage) int64 { return 0 }

// signalBelow signals the group of the leader.
func signalBelow(leader int, sig syscall.Signal) { _ = syscall.Kill(-leader, sig) }

// endBelow kills the rest of the group. The caller has waited for the leader
// already, so the number of the group may belong to another one.
func endBelow(leader int) []int {
	_ = syscall.Kill(-leader, syscall.SIGKILL)
	return nil
}

func inOwnSession(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }
