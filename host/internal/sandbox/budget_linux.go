package sandbox

import (
	"os"
	"path"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// machineMemory is what this process can have: that of the machine, or less if
// its control group says so. 0: unknown.
func machineMemory() uint64 {
	var info unix.Sysinfo_t
	if err := unix.Sysinfo(&info); err != nil {
		return 0
	}
	most := uint64(info.Totalram) * uint64(info.Unit) //nolint:unconvert // not the same type everywhere
	groups, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return most
	}
	for line := range strings.Lines(string(groups)) {
		own, isV2 := strings.CutPrefix(strings.TrimSpace(line), "0::")
		if !isV2 {
			continue
		}
		// A limit may stand at any of the groups above.
		for dir := path.Clean("/" + own); ; dir = path.Dir(dir) {
			if text, err := os.ReadFile(path.Join("/sys/fs/cgroup", dir, "memory.max")); err == nil {
				if n, err := strconv.ParseUint(strings.TrimSpace(string(text)), 10, 64); err == nil {
					most = min(most, n)
				}
			}
			if dir == "/" {
				break
			}
		}
	}
	return most
}
