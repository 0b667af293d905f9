//go:build !unix

package lockfile

import "os"

// Supported tells whether files can be locked on this system.
const Supported = false

// Take knows no lock here: it always gives ErrTaken.
func Take(string) (*os.File, error) { return nil, ErrTaken }
