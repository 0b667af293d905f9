// Package lockfile keeps processes out of a directory by the lock of a file in
// it. The system gives the lock back when its process ends, however it ends. The
// package does not wait for a lock, and says nothing of who has it.
package lockfile

import "errors"

// ErrTaken is the error of Take for a lock that another process has.
var ErrTaken = errors.New("another process uses it")
