//go:build !unix

package host

import "os"

// locks: a file can be locked.
const locks = false

// lockFile knows no lock here: compiled code is not kept.
func lockFile(string) (*os.File, error) { return nil, errTaken }
