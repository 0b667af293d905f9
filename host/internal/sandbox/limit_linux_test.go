package sandbox

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// unlimited is the content of version 1's limit file if there is no limit.
const unlimited = "9223372036854771712\n"

const (
	mountV1     = "35 31 0:32 / /sys/fs/cgroup/memory rw,relatime shared:9 - cgroup cgroup rw,memory\n"
	mountV2     = "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n"
	mountHybrid = "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"
	mountOther  = "32 31 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n"
)

func TestGroupLimit(t *testing.T) {
	t.Parallel()
	for what, tt := range map[string]struct {
		mounts, groups string
		files          map[string]string // below sys/fs/cgroup
		want           uint64
	}{
		"version 1": {
			mountOther + mountV1, "4:memory:/jobs\n1:cpu:/\n",
			map[string]string{"memory/jobs/memory.limit_in_bytes": "1000\n", "memory/memory.limit_in_bytes": unlimited}, 1000,
		},
		"version 1, a limit above": {
			mountV1, "4:memory:/a/b/c\n",
			map[string]string{"memory/a/memory.limit_in_bytes": "2000\n", "memory/a/b/memory.limit_in_bytes": "3000\n", "memory/a/b/c/memory.limit_in_bytes": unlimited}, 2000,
		},
		"version 1, controllers mounted together": {
			"35 31 0:32 / /sys/fs/cgroup/cpu,memory rw - cgroup cgroup rw,cpu,memory\n", "4:cpu,memory:/a\n",
			map[string]string{"cpu,memory/a/memory.limit_in_bytes": "1000"}, 1000,
		},
		"version 1, unlimited": {mountV1, "4:memory:/\n", map[string]string{"memory/memory.limit_in_bytes": unlimited}, 9223372036854771712},
		"version 1, in a container": {
			"35 31 0:32 /docker/4711 /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n", "4:memory:/docker/4711/inner\n",
			map[string]string{"memory/memory.limit_in_bytes": "3000\n", "memory/inner/memory.limit_in_bytes": "2000\n"}, 2000,
		},
		"version 1, the group is not below the mount": {
			"35 31 0:32 /docker/4711 /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n", "4:memory:/elsewhere\n",
			map[string]string{"memory/memory.limit_in_bytes": "3000\n"}, 3000,
		},
		"version 2": {mountV2, "0::/a.slice/b\n", map[string]string{"a.slice/b/memory.max": "5000\n", "a.slice/memory.max": "max\n"}, 5000},
		"version 2, a limit above": {
			mountV2, "0::/a.slice/b/c\n",
			map[string]string{"a.slice/b/c/memory.max": "max\n", "a.slice/b/memory.max": "7000\n", "a.slice/memory.max": "6000\n"}, 6000,
		},
		"version 2, unlimited":       {mountV2, "0::/a\n", map[string]string{"a/memory.max": "max\n"}, 0},
		"version 2, in a namespace":  {mountV2, "0::/\n", map[string]string{"memory.max": "8000\n"}, 8000},
		"both, memory is version 1":  {mountV1 + mountHybrid, "4:memory:/a\n0::/b\n", map[string]string{"memory/a/memory.limit_in_bytes": "1000\n"}, 1000},
		"both, the lower one counts": {mountV1 + mountHybrid, "4:memory:/a\n0::/b\n", map[string]string{"memory/a/memory.limit_in_bytes": "2000\n", "unified/b/memory.max": "1500\n"}, 1500},
		"a mount with a blank":       {`35 31 0:32 / /sys/fs/cgroup/my\040memory rw - cgroup cgroup rw,memory` + "\n", "4:memory:/\n", map[string]string{"my memory/memory.limit_in_bytes": "10\n"}, 10},
		"no groups":                  {"", "", nil, 0},
		"nonsense":                   {"x\n- y\n" + mountV1, "4\nmemory\n4:memory:/a\n", map[string]string{"memory/a/memory.limit_in_bytes": "much\n"}, 0},
	} {
		root := t.TempDir()
		write := func(name, text string) {
			name = filepath.Join(root, name)
			if err := os.MkdirAll(filepath.Dir(name), 0o750); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		write("proc/self/mountinfo", tt.mounts)
		write("proc/self/cgroup", tt.groups)
		for name, text := range tt.files {
			write(filepath.Join("sys/fs/cgroup", name), text)
		}
		if got, ok := groupLimit(root); got != tt.want || ok != (tt.want > 0) {
			t.Errorf("%s: %d, %v; want %d", what, got, ok, tt.want)
		}
	}
	if got, ok := groupLimit(t.TempDir()); ok {
		t.Errorf("of nothing: %d", got)
	}
}

// The limit of a group that this process really belongs to.
func TestProcessMemoryInAGroup(t *testing.T) {
	t.Parallel()
	const child, limit = "WASMJOBD_TEST_GROUP", 300 << 20
	if os.Getenv(child) != "" {
		if got := processMemory("/"); got != limit {
			t.Errorf("%d, want %d", got, limit)
		}
		return
	}
	_, v1, _ := groupMounts("/")
	if v1 == nil {
		t.Skip("left out: memory groups of version 1 are not mounted")
	}
	group, err := os.MkdirTemp(v1.dir, "wasmjobd-test-") //nolint:usetesting // a control group must be a directory there
	if err != nil {
		t.Skip("left out: no group can be made: ", err)
	}
	t.Cleanup(func() {
		if err := os.Remove(group); err != nil {
			t.Error(err)
		}
	})
	if err := os.WriteFile(filepath.Join(group, v1.file), fmt.Append(nil, limit), 0o600); err != nil {
		t.Fatal(err)
	}
	inner := filepath.Join(group, "inner") // has no limit of its own
	if err := os.Mkdir(inner, 0o750); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.Remove(inner); err != nil {
			t.Error(err)
		}
	})
	cmd := exec.CommandContext(t.Context(), "sh", "-c", `echo $$ > "$0/cgroup.procs" && exec "$@"`,
		inner, os.Args[0], "-test.run=^TestProcessMemoryInAGroup$")
	cmd.Env = append(os.Environ(), child+"=1")
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "PASS") {
		t.Errorf("%v\n%s", err, out)
	}
}
