// Command hello-go is the smallest job in Go: it logs a greeting that
// names its item, and returns it as the result.
//
//	GOOS=wasip1 GOARCH=wasm go build -buildmode=c-shared -o hello-go.wasm .
package main

import (
	"fmt"

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
	text := fmt.Sprintf("hello, %s, from item %d of %d", whom, c.Item(), c.Total())
	c.Info(text)
	return c.ResultString(text)
}
