//go:build !unix

package lockfile

import "os"

// Supported reports whether files can be locked on this system.
const Supported = false

// Take always returns ErrTaken, because there is no lock on this system.
func Take(string) (*os.File, error) { return nil, ErrTaken }
