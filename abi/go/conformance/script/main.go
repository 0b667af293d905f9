// Command script is the part of the conformance guest that is a program; the first
// argument of the job selects the case.
//
// It is not an example: see plugins/examples/report-go.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/wasmjob/wasmjob/abi/go/script"
)

func main() { script.Main(run) }

// run plays the case that the first argument names, and writes the result to out.
func run(c script.Context, out io.Writer) error {
	name := ""
	if len(c.Args) > 0 {
		name = c.Args[0]
	}
	var err error
	switch name {
	case "context":
		_, err = io.WriteString(out, os.Args[len(os.Args)-1])
	case "env":
		_, err = fmt.Fprint(out, os.Getenv("WASMJOB_JOB"), " ", os.Getenv("WASMJOB_ITEM"))
	case "fail":
		err = script.WithCode(3, errors.New("bad luck"))
	default:
		err = errors.New("there is no case " + name)
	}
	return err
}
