package wasmjob

import (
	"errors"
	"strconv"
)

// Run implements the export of a simple job, or of a listener: it calls the function with
// the host that runs this module and returns the result code. Like RunFetch, RunProcess
// and RunShard it is for the packages simple, dataflow, strategy and the ones in
// listener, which contain the exports.
func Run(job func(Context) error) int32 { return runJob(current(), job) }

// RunFetch implements the fetch export of a dataflow job.
func RunFetch(fetch func(Context, Sink) error) int32 { return runFetch(current(), fetch) }

// RunProcess implements the process export of a dataflow job.
func RunProcess(process func(Context, Batch) error) int32 { return runProcess(current(), process) }

// RunShard implements the export of a strategy.
func RunShard(shard func(Context, Deal) error) int32 { return runShard(current(), shard) }

// runJob is Run on any host; in tests that is a Fake.
func runJob(h host, f func(Context) error) int32 {
	if f == nil {
		return unregistered(h)
	}
	return enter(h, f)
}

// runFetch is RunFetch on any host.
func runFetch(h host, f func(Context, Sink) error) int32 {
	if f == nil {
		return unregistered(h)
	}
	return enter(h, func(c Context) error { return f(c, Sink{h}) })
}

// runProcess is RunProcess on any host.
func runProcess(h host, f func(Context, Batch) error) int32 {
	if f == nil {
		return unregistered(h)
	}
	return enter(h, func(c Context) error { return f(c, Batch{h}) })
}

// runShard is RunShard on any host.
func runShard(h host, f func(Context, Deal) error) int32 {
	if f == nil {
		return unregistered(h)
	}
	return enter(h, func(c Context) error { return f(c, Deal{h}) })
}

// unregistered fails the run of a module that registers no function. A negative code says
// that the SDK was misused.
func unregistered(h host) int32 {
	h.errorSet("no function is registered: call Register in an init function")
	return -1
}

// enter calls the function and converts its end to a result code. The host receives the
// reason of everything but success.
//
// A panic continues afterwards: the instance can no longer be used, and when the runtime
// has ended it, the host passes a batch to a new one.
func enter(h host, f func(Context) error) int32 {
	defer func() {
		if p := recover(); p != nil {
			h.errorSet("panic: " + panicText(p))
			panic(p)
		}
	}()
	err := f(Context{h})
	if err == nil {
		return resultOK
	}
	h.errorSet(err.Error())
	var own *codeError
	switch {
	case errors.Is(err, Skip):
		return resultSkipped
	case errors.Is(err, Retry):
		return resultRetryable
	case errors.As(err, &own):
		return own.code
	}
	return resultFailed
}

// panicText does not use package fmt, which would make small guests large.
func panicText(p any) string {
	switch v := p.(type) {
	case error:
		return v.Error()
	case string:
		return v
	case interface{ String() string }:
		return v.String()
	case bool:
		return strconv.FormatBool(v)
	case int:
		return strconv.Itoa(v)
	case int32:
		return strconv.Itoa(int(v))
	case int64:
		return strconv.FormatInt(v, 10)
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64)
	}
	return "a value that is not text (stderr has its type)"
}
