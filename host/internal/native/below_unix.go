//go:build unix && !linux

package native

import (
	"os/exec"
	"syscall"
)

// adopt cannot be had here: what leaves its group is not found again.
func adopt() error { return nil }

// endWithSupervisor cannot be had here: a command outlives a supervisor that is
// killed.
func endWithSupervisor(*syscall.SysProcAttr) {}

func peak(*syscall.Rusage) int64 { return 0 }

// signalBelow signals the group of the leader.
func signalBelow(leader int, sig syscall.Signal) { _ = syscall.Kill(-leader, sig) }

// endBelow ends what is left of the group. The leader was taken away before, so
// this is a guess.
func endBelow(leader int) []int {
	_ = syscall.Kill(-leader, syscall.SIGKILL)
	return nil
}

func apart(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }
