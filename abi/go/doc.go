// Package wasmjob is the SDK for jobs written in Go and TinyGo.
//
// A job is a function that is registered before the module is asked to run:
//
//	package main
//
//	import wasmjob "github.com/wasmjob/wasmjob/abi/go"
//
//	func init() {
//		wasmjob.Simple(func(c wasmjob.Context) error {
//			c.Info("item " + strconv.Itoa(c.Item()) + " of " + strconv.Itoa(c.Total()))
//			return c.ResultString("done")
//		})
//	}
//
//	func main() {}
//
// It is built as a reactor:
//
//	GOOS=wasip1 GOARCH=wasm go build -buildmode=c-shared -o job.wasm .
//	tinygo build -target=wasip1 -buildmode=c-shared -o job.wasm .
//
// The function runs once per item and attempt, each time in a fresh instance:
// package variables do not live on. A nil error is success; Skip says that
// there was nothing to do, Retry asks for another attempt, and any other error
// or panic fails the run with its text.
//
// The package is not for host programs. Built for another system than wasip1 it
// has no host behind it; there Fake stands in, so that a job's logic is tested
// with go test alone.
package wasmjob
