package sandbox

import (
	"time"

	"github.com/wasmjob/wasmjob/host/job"
)

// Default limits of a job. Fuel has none: the time limit bounds a run.
const (
	// DefaultMemory is the maximum linear memory of an instance, in bytes.
	DefaultMemory = 64 << 20
	// DefaultGrace is how long a guest may continue after its deadline, to end in
	// order.
	DefaultGrace = 2 * time.Second
	// DefaultResult is the maximum size of a result, in bytes.
	DefaultResult = 1 << 20
	// DefaultLogLine is the maximum length of a logged line, in bytes.
	DefaultLogLine = 4 << 10
	// DefaultLogRate is how many lines an item may log per second, and at once.
	DefaultLogRate = 50
	// DefaultBatch is the maximum size of all elements of a batch, in bytes.
	DefaultBatch = 8 << 20
	// DefaultUses is how many runs a pooled instance serves: enough to amortize its
	// start, few enough to limit what a guest leaks.
	DefaultUses = 100
	// DefaultStateValue is the maximum size of one value of an item's state, in
	// bytes.
	DefaultStateValue = 64 << 10
	// DefaultHTTPCalls is the maximum number of requests of a run, including
	// redirects.
	DefaultHTTPCalls = 100
	// DefaultHTTPBody is the maximum size of the body of a request or a response, in
	// bytes.
	DefaultHTTPBody = 5 << 20
	// DefaultOpenFiles is the maximum number of open files and directories of an
	// instance, so that guests cannot exhaust the descriptors of the host.
	DefaultOpenFiles = 128
)

// Limits that a job cannot change.
const (
	maxStateKey    = 256          // bytes
	maxStateValues = 64           // of one item
	maxState       = job.MaxState // bytes of all values and keys of an item
	maxMetrics     = 64           // names in one run
	maxMetricName  = 64           // bytes
	maxShownName   = 64           // bytes of a name in a message
	maxRandom      = 64 << 10     // bytes per call
	maxRandomRead  = 1 << 20      // bytes per read; the run's context is checked between reads
	maxAnswers     = 16           // open responses of an instance
	maxRequestHead = 64 << 10     // bytes
	maxInserted    = 64 << 10     // bytes of secrets in the headers of a request
	maxHeaders     = 100          // fields of a request
)

// orDefault returns a limit of the job's configuration, or otherwise if it is not set.
func orDefault[T ~int | ~int64](limit, otherwise T) T {
	if limit > 0 {
		return limit
	}
	return otherwise
}
