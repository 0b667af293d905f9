package main

import (
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/wasmjob/wasmjob/abi/go/script"
)

func TestReport(t *testing.T) {
	t.Parallel()
	dir := fstest.MapFS{"a.txt": {Data: []byte("1\n2\n")}, "b.txt": {Data: []byte("1")}, "c.txt": {}, "d/e.txt": {Data: []byte("1\n")}}
	c := script.Context{JobName: "report", Total: 2, Scheduled: time.UnixMilli(1700000000000)}
	for item, want := range []string{
		"report, item 0 of 2, 2023-11-14 22:13\n       2          4 a.txt\n       0          0 c.txt\n",
		"report, item 1 of 2, 2023-11-14 22:13\n       0          1 b.txt\n",
	} {
		c.Item = item
		var out strings.Builder
		if err := report(c, dir, &out); err != nil || out.String() != want {
			t.Errorf("item %d: %v\n%s", item, err, out.String())
		}
	}
	if err := report(c, fstest.MapFS{".": {}}, &strings.Builder{}); err == nil {
		t.Error("a file was listed as a directory")
	}
}
