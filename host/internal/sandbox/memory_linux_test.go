package sandbox

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/wasmjob/wasmjob/host/job"
)

// The system may refuse memory at any time. Then the run fails and the host goes on. The
// limit applies to a whole process, so the test needs a process of its own.
func TestRunWithoutMemory(t *testing.T) {
	t.Parallel()
	const child = "WASMJOBD_TEST_NO_MEMORY"
	if os.Getenv(child) == "" {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestRunWithoutMemory$")
		cmd.Env = append(os.Environ(), child+"=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return
	}
	e := newEngine(t)
	m := load(t, e, (&builder{}).job(i32(0)))
	stat, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		t.Fatal(err)
	}
	pages, err := strconv.ParseUint(strings.Fields(string(stat))[0], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	limit := pages*uint64(os.Getpagesize()) + 1<<30
	if err := unix.Setrlimit(unix.RLIMIT_AS, &unix.Rlimit{Cur: limit, Max: limit}); err != nil {
		t.Skip(err)
	}
	much := job.Call{Config: job.Config{Limits: job.Limits{Memory: 4 << 30}}}
	expect(t, e.Run(t.Context(), m, much), job.Failure, "no memory for the module")
	expect(t, e.Run(t.Context(), m, job.Call{}), job.OK, "")
}

// Reserved memory is returned, even if the engine never used it.
func TestMemoryIsGivenBack(t *testing.T) {
	t.Parallel()
	m := linearMemory{limit: 10 * pageSize}
	if err := m.open(3 * pageSize); err != nil {
		t.Fatal(err)
	}
	if b := m.Reallocate(3 * pageSize); len(b) != 3*pageSize {
		t.Errorf("%d bytes", len(b))
	}
	if b := m.Reallocate(4 * pageSize); b != nil {
		t.Errorf("%d bytes beyond what the module may ask for", len(b))
	}
	m.Free()
	m.release() // again
	if b := m.Reallocate(pageSize); b != nil {
		t.Error("memory after it was given back")
	}
}
