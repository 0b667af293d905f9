package wasmjob

import (
	"errors"
	"strconv"
)

// Run is what the export of a simple job, or of a listener, does: it calls the
// function on the host that runs this module and answers the result code. Like
// RunFetch, RunProcess and RunShard it is for the packages simple, dataflow,
// strategy and those in listener, which hold the exports.
func Run(job func(Context) error) int32 { return runJob(current(), job) }

// RunFetch is what the export of a dataflow job's first half does.
func RunFetch(fetch func(Context, Sink) error) int32 { return runFetch(current(), fetch) }

// RunProcess is what the export of a dataflow job's second half does.
func RunProcess(process func(Context, Batch) error) int32 { return runProcess(current(), process) }

// RunShard is what the export of a strategy does.
func RunShard(shard func(Context, Deal) error) int32 { return runShard(current(), shard) }

func runJob(h host, f func(Context) error) int32 {
	if f == nil {
		return unregistered(h)
	}
	return enter(h, f)
}

func runFetch(h host, f func(Context, Sink) error) int32 {
	if f == nil {
		return unregistered(h)
	}
	return enter(h, func(c Context) error { return f(c, Sink{h}) })
}

func runProcess(h host, f func(Context, Batch) error) int32 {
	if f == nil {
		return unregistered(h)
	}
	return enter(h, func(c Context) error { return f(c, Batch{h}) })
}

func runShard(h host, f func(Context, Deal) error) int32 {
	if f == nil {
		return unregistered(h)
	}
	return enter(h, func(c Context) error { return f(c, Deal{h}) })
}

func unregistered(h host) int32 {
	h.errorSet("no function is registered: call Register in an init function")
	return -1
}

// enter calls the function and turns its end into a result code; the host is
// told the reason of everything but success.
//
// A panic goes on after that: the instance is not sound any more, and when the
// runtime has ended it, the host gives a batch to a fresh one.
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

// panicText does without package fmt, which would make small guests large.
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
