package host

import (
	"log/slog"
	"math"
	"os"
	"runtime/debug"

	"github.com/wasmjob/wasmjob/host/internal/sandbox"
)

// boundHeap has the collector of garbage work harder before Go's heap takes the
// memory that guests may have outside of it, until the function is called that
// it returns. A bound that somebody has set (GOMEMLIMIT) is left alone.
func boundHeap(budget int64, log *slog.Logger) (end func()) {
	if os.Getenv("GOMEMLIMIT") != "" || debug.SetMemoryLimit(-1) != math.MaxInt64 {
		return func() {}
	}
	guests, heap := sandbox.Shares(budget)
	if heap == 0 || heap > math.MaxInt64 {
		return func() {}
	}
	log.Info("memory is divided", "guests", guests, "heap", heap)
	debug.SetMemoryLimit(int64(heap))
	return func() { debug.SetMemoryLimit(math.MaxInt64) }
}
