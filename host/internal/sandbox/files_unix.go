//go:build unix

package sandbox

import "syscall"

// openNonblock keeps the opening of a pipe that nobody writes from waiting.
const openNonblock = syscall.O_NONBLOCK
