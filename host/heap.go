package host

import (
	"log/slog"
	"math"
	"os"
	"runtime/debug"

	"github.com/wasmjob/wasmjob/host/internal/sandbox"
)

// boundHeap limits Go's heap to the memory that guests may not use. budget is what guests may use
// by Options.Memory, or 0. boundHeap returns a function that removes the limit. It does not change
// a limit that GOMEMLIMIT or the program has set.
func boundHeap(budget int64, log *slog.Logger) (end func()) {
	if os.Getenv("GOMEMLIMIT") != "" || debug.SetMemoryLimit(-1) != math.MaxInt64 {
		return func() {}
	}
	guests, heap := sandbox.Shares(budget)
	if heap == 0 || heap > math.MaxInt64 { // the memory is not known
		return func() {}
	}
	log.Info("memory is divided", "guests", guests, "heap", heap)
	debug.SetMemoryLimit(int64(heap))
	return func() { debug.SetMemoryLimit(math.MaxInt64) }
}
