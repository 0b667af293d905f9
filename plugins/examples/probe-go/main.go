// Command probe-go is a job that checks whether a web server is well. The URL
// is the parameter of the item, so one job checks many servers:
//
//	[jobs.probe]
//	module = "probe"
//	shards = 2
//	item_params = { 0 = "https://example.org/health", 1 = "https://example.com/" }
//	config.contains = "ok"
//	allow.http = ["GET https://example.org/health", "GET https://example.com/"]
//	allow.clock = "real"
//
// It fails with code 200 if the status of the answer is not 200, or if the answer
// does not contain the setting "contains". If there is no answer, or its status is
// 500 or more, another attempt may help. With a clock it measures, in the metric
// "ms", how long the server took.
//
//	GOOS=wasip1 GOARCH=wasm go build -buildmode=c-shared -o probe-go.wasm .
package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	wasmjob "github.com/wasmjob/wasmjob/abi/go"
	"github.com/wasmjob/wasmjob/abi/go/simple"
)

func init() { simple.Register(probe) }

func main() {}

const (
	// unwell is the code of a server that answers, but not as it should.
	unwell = 200
	// most is how many bytes of the answer are read.
	most = 1 << 20
)

// probe requests the item's URL and checks the answer. Without a granted clock it
// only leaves out the metric.
func probe(c wasmjob.Context) error {
	url, ok := c.Param()
	if !ok {
		return errors.New("the item has no parameter that names its URL")
	}
	before, noClock := c.Now()
	r, err := c.HTTP(wasmjob.Request{URL: url, Header: map[string]string{"User-Agent": "wasmjob-probe"}})
	if errors.Is(err, wasmjob.ErrTimeout) || errors.Is(err, wasmjob.ErrIO) {
		return fmt.Errorf("%w: %w", err, wasmjob.Retry)
	}
	if err != nil {
		return err
	}
	defer r.Close() //nolint:errcheck // the host closes what is left open
	body, err := io.ReadAll(io.LimitReader(r, most))
	if err != nil {
		return fmt.Errorf("%s: %w: %w", url, err, wasmjob.Retry)
	}
	if noClock == nil {
		after, err := c.Now()
		if err != nil {
			return err
		}
		if err := c.Metric("ms", float64(after.Sub(before).Milliseconds())); err != nil {
			return err
		}
	}
	wanted, _ := c.Config("contains")
	switch {
	case r.Status >= 500:
		return fmt.Errorf("%s: status %d: %w", url, r.Status, wasmjob.Retry)
	case r.Status != 200:
		return wasmjob.WithCode(unwell, fmt.Errorf("%s: status %d", url, r.Status))
	case !bytes.Contains(body, []byte(wanted)):
		return wasmjob.WithCode(unwell, fmt.Errorf("%s: %q is not in the answer", url, wanted))
	}
	kind, _ := r.Header("Content-Type")
	return c.ResultString(fmt.Sprintf("%s: well, %d bytes of %s", url, len(body), kind))
}
