//go:build unix && !linux

package native

import "syscall"

// endWithServer cannot be had here: a command outlives a server that is killed.
func endWithServer(*syscall.SysProcAttr) {}
