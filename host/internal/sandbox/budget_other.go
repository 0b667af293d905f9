//go:build !linux

package sandbox

// machineMemory is unknown.
func machineMemory() uint64 { return 0 }
