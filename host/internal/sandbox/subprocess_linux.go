package sandbox

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// limitProcess limits how many more bytes this process can use, and makes the kernel
// end it before others when memory is short.
func limitProcess(more int64) error {
	used, err := dataBytes()
	if err != nil {
		return err
	}
	maxData := uint64(used + more)
	for resource, limit := range map[int]uint64{unix.RLIMIT_DATA: maxData, unix.RLIMIT_CORE: 0} {
		if err := unix.Setrlimit(resource, &unix.Rlimit{Cur: limit, Max: limit}); err != nil {
			return fmt.Errorf("limit this process: %w", err)
		}
	}
	// Both are optional: a container may forbid them.
	_ = os.WriteFile("/proc/self/oom_score_adj", []byte("1000"), 0)
	_ = unix.Setpriority(unix.PRIO_PROCESS, 0, 10)
	return nil
}

// dataBytes returns the bytes that count against RLIMIT_DATA now.
func dataBytes() (int64, error) {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, fmt.Errorf("read the status of this process: %w", err)
	}
	for line := range strings.Lines(string(status)) {
		if kib, ok := strings.CutPrefix(line, "VmData:"); ok {
			n, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(kib), "kB")), 10, 64)
			if err != nil {
				return 0, fmt.Errorf("read the status of this process: %w", err)
			}
			return n << 10, nil
		}
	}
	return 0, fmt.Errorf("read the status of this process: there is no VmData")
}
