//go:build !unix

package embedded

import (
	"errors"
	"os"
)

// lockFile always fails: without a lock two processes could write to one log.
func lockFile(string) (*os.File, error) {
	return nil, errors.New("this system has no file locks that we know; use a registry in memory")
}
