package sandbox

import (
	"os"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/wasmjob/wasmjob/host/job"
)

// nested is a guest with calls of the given depth.
func nested(calls int64) []byte {
	b := &builder{}
	f := b.fn(valI32, valI32, 0, getLocal(0), op(0x45), op(0x04, 0x7f), i32(0), op(0x05), getLocal(0), i32(-1), op(opI32Add), call(b.imported), op(opEnd))
	return b.job(i32(calls), call(f))
}

// The memory of a guest's stack is reserved before it runs, and no call goes deeper:
// neither into the budget of others nor into Go's heap.
func TestBudgetCountsStacks(t *testing.T) {
	t.Parallel()
	e, err := New(Options{Budget: 2 << 20})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	for calls, verdict := range map[int64]job.Verdict{10_000: job.OK, 300_000: job.Failure} {
		m := load(t, e, nested(calls))
		out := e.Run(t.Context(), m, job.Call{})
		expect(t, out, verdict, "")
		if verdict == job.Failure && !strings.Contains(out.Error, "the call stack is exhausted: a guest has 1048576 bytes") {
			t.Errorf("%d calls deep: %s", calls, out.Error)
		}
		if e.budget.used != 0 {
			t.Errorf("%d calls deep: %d bytes are not given back", calls, e.budget.used)
		}
	}
	small := newEngine(t)
	small.budget.limit = stackSize
	expect(t, small.Run(t.Context(), load(t, small, nested(1)), job.Call{}), job.Failure, "all guests together may have 1048576")
}

// A deep stack returns its memory after some runs, and at once if memory is short.
func TestStacksAreGivenBack(t *testing.T) {
	t.Parallel()
	e := newEngine(t)
	deep, flat := load(t, e, nested(10_000)), load(t, e, nested(10))
	kept := func() int {
		t.Helper()
		if len(e.stacks.free) != 1 {
			t.Fatalf("%d stacks for one run at a time", len(e.stacks.free))
		}
		return residentBytes(t, e.stacks.free[0])
	}
	expect(t, e.Run(t.Context(), deep, pooledCall(1)), job.OK, "")
	if got := kept(); got <= keptStackBytes {
		t.Fatalf("10,000 calls touched %d bytes", got)
	}
	for range discardEvery {
		expect(t, e.Run(t.Context(), flat, job.Call{}), job.OK, "")
	}
	if got := kept(); got > keptStackBytes {
		t.Errorf("it keeps %d bytes", got)
	}
	expect(t, e.Run(t.Context(), deep, pooledCall(1)), job.OK, "")
	e.stacks.evict()
	if got := kept(); got > keptStackBytes {
		t.Errorf("it keeps %d bytes although memory is short", got)
	}
	if e.budget.used >= stackSize {
		t.Errorf("an instance at rest has %d bytes", e.budget.used)
	}
}

// residentBytes returns how many bytes of a range are in memory.
func residentBytes(t *testing.T, b []byte) int {
	t.Helper()
	pages := make([]byte, (len(b)+os.Getpagesize()-1)/os.Getpagesize())
	if _, _, errno := unix.Syscall(unix.SYS_MINCORE, uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)), uintptr(unsafe.Pointer(&pages[0]))); errno != 0 {
		t.Fatal(errno)
	}
	n := 0
	for _, p := range pages {
		n += int(p & 1)
	}
	return n * os.Getpagesize()
}
