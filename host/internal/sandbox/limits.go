package sandbox

import (
	"time"

	"github.com/wasmjob/wasmjob/host/job"
)

// Limits of a job that says nothing else. Fuel has none: time bounds a run.
const (
	// DefaultMemory bounds the linear memory of one instance, in bytes.
	DefaultMemory = 64 << 20
	// DefaultGrace is how long a guest may go on after its deadline, to end in
	// order.
	DefaultGrace = 2 * time.Second
	// DefaultResult bounds what a run gives back, in bytes.
	DefaultResult = 1 << 20
	// DefaultLogLine bounds one line that a guest logs, in bytes.
	DefaultLogLine = 4 << 10
	// DefaultLogRate bounds how many lines an item logs in a second, and how many at
	// once.
	DefaultLogRate = 50
	// DefaultBatch bounds the elements of a batch together, in bytes.
	DefaultBatch = 8 << 20
	// DefaultUses is how many runs an instance of a pool serves: enough to make
	// its start cheap, few enough that what a guest leaks does not pile up.
	DefaultUses = 100
	// DefaultStateValue bounds one value of an item's state, in bytes.
	DefaultStateValue = 64 << 10
	// DefaultHTTPCalls bounds the requests of one run, redirects included.
	DefaultHTTPCalls = 100
	// DefaultHTTPBody bounds the body of a request, and that of an answer, in
	// bytes.
	DefaultHTTPBody = 5 << 20
	// DefaultOpenFiles bounds the files and directories that one instance has
	// open at a time, so that guests cannot use up the descriptors of the host.
	DefaultOpenFiles = 128
)

// Limits that no job changes.
const (
	maxStateKey    = 256          // bytes
	maxStateValues = 64           // of one item
	maxState       = job.MaxState // bytes of all values of an item with their keys
	maxMetrics     = 64           // names of one run
	maxMetricName  = 64           // bytes
	maxRandom      = 64 << 10     // bytes at once
	maxRandomRead  = 1 << 20      // bytes of WASI's random numbers, after which the run's context is looked at
	maxAnswers     = 16           // open at a time, of one instance
	maxRequestHead = 64 << 10     // bytes
	maxHeaders     = 100          // lines of a request
)

// orDefault is a limit as it holds.
func orDefault[T int | int64](limit, otherwise T) T {
	if limit > 0 {
		return limit
	}
	return otherwise
}
