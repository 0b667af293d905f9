// Package wasmjob is the SDK for jobs and sharding strategies written in Go and
// TinyGo.
//
// A job is a function that is registered before the module is asked to run:
//
//	package main
//
//	import (
//		"strconv"
//
//		wasmjob "github.com/wasmjob/wasmjob/abi/go"
//		"github.com/wasmjob/wasmjob/abi/go/simple"
//	)
//
//	func init() { simple.Register(greet) }
//
//	func main() {}
//
//	func greet(c wasmjob.Context) error {
//		return c.ResultString("item " + strconv.Itoa(c.Item()) + " of " + strconv.Itoa(c.Total()))
//	}
//
// It is built as a reactor:
//
//	GOOS=wasip1 GOARCH=wasm go build -buildmode=c-shared -o job.wasm .
//	tinygo build -target=wasip1 -buildmode=c-shared -o job.wasm .
//
// Each kind has a package that registers it, because a module is of the kinds
// that it exports, and importing the package is what adds the export: simple,
// dataflow and strategy, and, for listeners, before, after, started and
// completed in listener. Scripts are programs of their own and use package
// script alone. What a job does is all here: Context for what it knows and
// tells, State, Context.HTTP, Batch, Deal. A module imports from the host what
// its author calls and nothing else.
//
// The function runs once per item and attempt, as a rule in a fresh instance:
// package variables do not live on; State does. A nil error is success; Skip
// says that there was nothing to do, Retry, alone or joined with the cause by
// errors.Join, asks for another attempt, WithCode gives a code of the author's
// own, and any other error or panic fails the run with its text. Errors of this
// package say what was attempted and are compared with errors.Is: ErrDenied,
// ErrLimit and so on. Context.Ended and Context.Fire tell the listeners after
// and completed how a run, and all runs of a fire, have ended.
//
// The package is not for host programs. Built for another system than wasip1 it
// has no host behind it; there Fake stands in, so that a job's logic is tested
// with go test alone.
//
// With TinyGo, Context.Logf and Context.ResultJSON make a module larger than
// Context.Log and Context.Result do, and recover does nothing: a panic ends the
// module at once, and its deferred calls are not made.
package wasmjob
