// Command report-go is a script: a program whose output is the result. It lists
// the files of a directory with their numbers of lines and bytes; each sharding item
// lists its part.
//
//	[jobs.report]
//	module = "report"
//	kind = "script"
//	args = ["/data"]
//	allow.dirs = ["ro:/srv/texts:/data"]
//
// A script is built without a build mode:
//
//	GOOS=wasip1 GOARCH=wasm go build -o report-go.wasm .
package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/wasmjob/wasmjob/abi/go/script"
)

func main() {
	script.Main(func(c script.Context, out io.Writer) error {
		if len(c.Args) != 1 {
			return script.WithCode(2, errors.New("name the directory in the job's args"))
		}
		return report(c, os.DirFS(c.Args[0]), out)
	})
}

// report lists every Total-th file, beginning with the Item-th.
func report(c script.Context, dir fs.FS, out io.Writer) error {
	// They are sorted by name, so every item sees the same order.
	entries, err := fs.ReadDir(dir, ".")
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%s, item %d of %d, %s\n", c.JobName, c.Item, c.Total, c.Scheduled.UTC().Format("2006-01-02 15:04"))
	for i, e := range entries {
		if !e.Type().IsRegular() || i%c.Total != c.Item {
			continue
		}
		text, err := fs.ReadFile(dir, e.Name())
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "%8d %10d %s\n", bytes.Count(text, []byte("\n")), len(text), e.Name())
	}
	return nil
}
