//go:build !linux

package main

import "time"

// monotonic returns 0: only systemd needs it.
func monotonic() time.Duration { return 0 }
