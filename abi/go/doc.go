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
// Each kind has a package that registers it, because a module's kinds are given by its
// exports, and importing the package adds the export: simple, dataflow and strategy and,
// for listeners, before, after, started and completed in listener. Scripts are separate
// programs and use only package script. This package has everything that a job can do:
// Context for its facts and results, State, Context.HTTP, Batch, Deal. A module imports
// from the host only the functions that its author calls.
//
// The function runs once per item and attempt, usually in a new instance: package
// variables are lost, State is kept. A nil error is success; Skip means that there was
// nothing to do, Retry, alone or joined with the cause by errors.Join, requests another
// attempt, WithCode sets a code that the author defines, and any other error or panic
// fails the run with its text. Errors of this package say what was attempted and are
// compared with errors.Is: ErrDenied, ErrLimit and so on. In the listeners after and
// completed, Context.Ended and Context.Fire say how a run, and all runs of a fire, have
// ended.
//
// The package is not for host programs. On systems other than wasip1 there is no host;
// Fake replaces it, so that a job's logic can be tested with go test alone.
//
// With TinyGo, Context.Logf and Context.ResultJSON make a module larger than Context.Log
// and Context.Result do, and recover does nothing: a panic ends the module at once,
// without its deferred calls.
package wasmjob
