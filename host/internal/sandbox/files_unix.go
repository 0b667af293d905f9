//go:build unix

package sandbox

import "syscall"

// openNonblock prevents opening a pipe without a writer from blocking.
const openNonblock = syscall.O_NONBLOCK
