// Package lockfile lets one process at a time use a directory, by the lock of a
// file in it. The operating system releases the lock when the process ends,
// however it ends. The package does not wait for a lock and does not say who
// holds it.
package lockfile

import "errors"

// ErrTaken is the error of Take for a lock that another process has.
var ErrTaken = errors.New("another process uses it")
