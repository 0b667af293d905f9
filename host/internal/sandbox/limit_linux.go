package sandbox

import (
	"bufio"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// processMemory is how many bytes this process can have: those of the machine,
// or fewer if a control group above it says so. 0: unknown.
func processMemory(root string) uint64 {
	var info unix.Sysinfo_t
	if err := unix.Sysinfo(&info); err != nil {
		return 0
	}
	most := uint64(info.Totalram) * uint64(info.Unit) //nolint:unconvert // not the same type everywhere
	if limit, ok := groupLimit(root); ok {
		most = min(most, limit)
	}
	return most
}

// hierarchy is where the control groups of one kind are mounted.
type hierarchy struct {
	dir  string // the mount point
	top  string // the group that is mounted there
	file string // that has the limit
}

// groupLimit finds the lowest limit of memory that a control group sets, the
// groups above it included. Version 1, version 2 and both beside each other are
// looked at. Only the tree below root is read.
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

// groupMounts finds where the groups that bound memory are mounted.
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

// least is the lowest limit of a group and of those above it. In a container the
// path may be that of another place in the tree than what is mounted; then only
// the top is known.
func (h *hierarchy) least(root, path string) (limit uint64, ok bool) {
	rel, err := filepath.Rel(h.top, path)
	if err != nil || rel == ".." || strings.HasPrefix(rel, "../") {
		rel = "."
	}
	for dir := filepath.Clean("/" + rel); ; dir = filepath.Dir(dir) {
		if text, err := os.ReadFile(filepath.Join(root, h.dir, dir, h.file)); err == nil {
			// "max" is no limit; of version 1 it is a number beyond every machine.
			if n, err := strconv.ParseUint(strings.TrimSpace(string(text)), 10, 64); err == nil && (!ok || n < limit) {
				limit, ok = n, true
			}
		}
		if dir == "/" {
			return limit, ok
		}
	}
}

// lines are those of a file, or none if it cannot be read.
func lines(name string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		f, err := os.Open(name)
		if err != nil {
			return
		}
		defer func() { _ = f.Close() }() // it was only read
		for s := bufio.NewScanner(f); s.Scan(); {
			if !yield(s.Text()) {
				return
			}
		}
	}
}

func hasWord(list, word string) bool { return strings.Contains(","+list+",", ","+word+",") }

// mountPath reads a path of mountinfo, in which blanks are octal.
func mountPath(path string) string {
	return strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace(path)
}
