//go:build !linux

package embedded

import "os"

// syncData brings f to the disk.
func syncData(f *os.File) error { return f.Sync() }
