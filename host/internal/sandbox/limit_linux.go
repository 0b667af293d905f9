package sandbox

import (
	"iter"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// processMemory returns the bytes that this process can use: those of the machine,
// or fewer if a control group limits them. 0 means unknown.
func processMemory(root string) uint64 {
	var info unix.Sysinfo_t
	if err := unix.Sysinfo(&info); err != nil {
		return 0
	}
	total := uint64(info.Totalram) * uint64(info.Unit) //nolint:unconvert // not the same type everywhere
	if limit, ok := groupLimit(root); ok {
		total = min(total, limit)
	}
	return total
}

// hierarchy is a mounted control group hierarchy.
type hierarchy struct {
	dir  string // the mount point
	top  string // the group that is mounted there
	file string // the file with the limit
}

// groupLimit returns the lowest memory limit of the process's control group and the
// groups above it. It supports version 1, version 2, and both together. It reads
// only files below root.
func groupLimit(root string) (limit uint64, ok bool) {
	mounts, v1, v2 := groupMounts(root)
	if !mounts {
		return 0, false
	}
	for line := range lines(filepath.Join(root, "proc/self/cgroup")) {
		// "ID:CONTROLLERS:PATH", of version 2 "0::PATH"
		fields := strings.SplitN(line, ":", 3)
		if len(fields) < 3 {
			continue
		}
		var h *hierarchy
		switch {
		case fields[0] == "0" && fields[1] == "":
			h = v2
		case hasWord(fields[1], "memory"):
			h = v1
		}
		if h == nil {
			continue
		}
		if n, found := h.least(root, fields[2]); found && (!ok || n < limit) {
			limit, ok = n, true
		}
	}
	return limit, ok
}

// groupMounts finds the hierarchies that limit memory.
func groupMounts(root string) (found bool, v1, v2 *hierarchy) {
	for line := range lines(filepath.Join(root, "proc/self/mountinfo")) {
		// "ID PARENT DEVICE TOP DIR OPTIONS … - TYPE SOURCE OPTIONS"
		before, after, _ := strings.Cut(line, " - ")
		mount, kind := strings.Fields(before), strings.Fields(after)
		if len(mount) < 5 || len(kind) < 3 {
			continue
		}
		h := &hierarchy{dir: mountPath(mount[4]), top: mountPath(mount[3])}
		switch {
		case kind[0] == "cgroup2" && v2 == nil:
			h.file, v2 = "memory.max", h
		case kind[0] == "cgroup" && hasWord(kind[2], "memory") && v1 == nil:
			h.file, v1 = "memory.limit_in_bytes", h
		}
	}
	return v1 != nil || v2 != nil, v1, v2
}

// least returns the lowest limit of a group and the groups above it. In a container
// the path may not be below the mounted group; then least reads the mounted group
// only.
func (h *hierarchy) least(root, path string) (limit uint64, ok bool) {
	rel, err := filepath.Rel(h.top, path)
	if err != nil || rel == ".." || strings.HasPrefix(rel, "../") {
		rel = "."
	}
	for dir := filepath.Clean("/" + rel); ; dir = filepath.Dir(dir) {
		if text, err := os.ReadFile(filepath.Join(root, h.dir, dir, h.file)); err == nil {
			// "max" means no limit; version 1 has a very large number instead.
			if n, err := strconv.ParseUint(strings.TrimSpace(string(text)), 10, 64); err == nil && (!ok || n < limit) {
				limit, ok = n, true
			}
		}
		if dir == "/" {
			return limit, ok
		}
	}
}

// lines returns the lines of a file, or none if it cannot be read.
func lines(name string) iter.Seq[string] {
	text, _ := os.ReadFile(name)
	return strings.SplitSeq(string(text), "\n")
}

func hasWord(list, word string) bool { return strings.Contains(","+list+",", ","+word+",") }

// mountPath decodes a path of mountinfo, in which blanks are octal escapes.
func mountPath(path string) string {
	return strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace(path)
}
