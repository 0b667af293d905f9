//go:build !linux

package sandbox

func limitProcess(int64) error { return nil }
