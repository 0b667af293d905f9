//go:build !linux

package embedded

import "os"

// syncData writes f to the disk.
func syncData(f *os.File) error { return f.Sync() }
