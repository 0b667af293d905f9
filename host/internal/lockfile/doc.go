// Package lockfile makes sure that only one process at a time uses a directory, by the
// lock of a file in it. The operating system releases the lock when the process ends, for
// whatever reason. The package does not wait for a lock, and does not report which
// process holds it.
package lockfile

import "errors"

// ErrTaken is the error of Take if another process has the lock.
var ErrTaken = errors.New("another process uses it")
