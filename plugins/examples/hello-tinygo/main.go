// Command hello-tinygo is the smallest job for TinyGo: its result is a greeting
// that names its item. Unlike hello-go it does not use package fmt, so the module
// is less than half as large. Go builds it, too.
//
//	tinygo build -target=wasip1 -buildmode=c-shared -no-debug -o hello-tinygo.wasm .
package main

import (
	"strconv"

	wasmjob "github.com/wasmjob/wasmjob/abi/go"
	"github.com/wasmjob/wasmjob/abi/go/simple"
)

func init() { simple.Register(hello) }

func main() {}

// hello greets whom the item's parameter names.
func hello(c wasmjob.Context) error {
	whom, ok := c.Param()
	if !ok {
		whom = "world"
	}
	text := "hello, " + whom + ", from item " + strconv.Itoa(c.Item()) + " of " + strconv.Itoa(c.Total())
	c.Info(text)
	return c.ResultString(text)
}
