// Command integrity-go is a job that takes the fingerprint of a directory: each
// sharding item digests its part of the files, and two runs that give the same
// digest saw the same names and bytes.
//
// It reads the directory granted as /data, or the one that the setting "root"
// names:
//
//	[jobs.integrity.allow]
//	dirs = ["ro:/srv/archive:/data"]
//
// Directories whose names the setting "without" lists are left out; without the
// setting, .git is.
//
// The hash of a file's path says to which item it belongs. So files may come and
// go without moving others, and every item finds its part alone.
//
//	GOOS=wasip1 GOARCH=wasm go build -buildmode=c-shared -o integrity-go.wasm .
package main

import (
	"errors"
	"fmt"
	"os"
	"strings"

	wasmjob "github.com/wasmjob/wasmjob/abi/go"
	"github.com/wasmjob/wasmjob/abi/go/simple"
)

func init() { simple.Register(integrity) }

func main() {}

// integrity digests the item's files below the granted directory.
func integrity(c wasmjob.Context) error {
	root, ok := c.Config("root")
	if !ok {
		root = "/data"
	}
	if info, err := os.Stat(root); err != nil || !info.IsDir() {
		return fmt.Errorf("there is no directory %s; grant one in the job's allow table", root)
	}
	without, ok := c.Config("without")
	if !ok {
		without = ".git"
	}
	s := scan{
		tree: os.DirFS(root), item: c.Item(), total: c.Total(), without: strings.Fields(without),
		stop:     func() bool { return c.Cancelled() != wasmjob.Continue },
		progress: c.Progress,
	}
	report, err := s.run()
	if errors.Is(err, errStopped) {
		return fmt.Errorf("stopped (%s) after %d files: %w", c.Cancelled(), report.Files, wasmjob.Retry)
	}
	if err != nil {
		return err
	}
	c.Logf(wasmjob.LevelInfo, "%d files, %d bytes, %d unreadable, digest %s", report.Files, report.Bytes, report.Unreadable, report.Digest)
	return c.ResultJSON(report)
}
