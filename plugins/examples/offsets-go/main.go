// Command offsets-go is a dataflow job that follows a journal, a file to which
// lines are appended. Each run begins where the last one that succeeded has
// ended, whichever server it ran on.
//
// A line is a name and a whole number, as in "pears 12". The numbers are added
// up, per run in the metric "amount" and over all runs in the state. Any other
// line counts as failed.
//
// The parameter of the item names its file in the directory that is granted as
// /data, so every item follows a journal of its own:
//
//	[jobs.journals]
//	module = "offsets"
//	kind = "dataflow"
//	shards = 2
//	item_params = { 0 = "north.txt", 1 = "south.txt" }
//	allow.state = true
//	allow.dirs = ["ro:/srv/journals:/data"]
//
// With streaming, it reads batch after batch until the end of the file.
//
//	GOOS=wasip1 GOARCH=wasm go build -buildmode=c-shared -o offsets-go.wasm .
package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strconv"

	wasmjob "github.com/wasmjob/wasmjob/abi/go"
	"github.com/wasmjob/wasmjob/abi/go/dataflow"
)

func init() { dataflow.Register(fetch, process) }

func main() {}

// usual is how many lines are in a batch if the job does not say.
const usual = 100

// fetch finds the lines after the offset. The new offset is kept only if process
// succeeds, together with what that stores.
func fetch(c wasmjob.Context, out wasmjob.Sink) error {
	name, ok := c.Param()
	if !ok {
		return errors.New("the item has no parameter that names its journal")
	}
	dir, ok := c.Config("dir")
	if !ok {
		dir = "/data"
	}
	f, err := os.Open(path.Join(dir, name))
	if err != nil {
		return fmt.Errorf("open the journal: %w", err)
	}
	defer f.Close() //nolint:errcheck // it is only read
	offset, err := begin(c, f)
	if err != nil {
		return err
	}
	most := c.FetchCount()
	if most == 0 {
		most = usual
	}
	lines := bufio.NewReader(f)
	for n := 0; n < most; n++ {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			break // the last line is not complete yet
		}
		if err != nil {
			return fmt.Errorf("read the journal: %w", err)
		}
		err = out.Add(bytes.TrimRight(line, "\r\n"))
		if errors.Is(err, wasmjob.ErrLimit) && n > 0 {
			break // the batch is full, so the line is the first of the next one
		}
		if err != nil {
			return err
		}
		offset += int64(len(line))
	}
	return c.State().SetInt("offset", offset)
}

// begin goes to where the last batch ended. A journal that is shorter than that is
// a new one, and is read from its beginning.
func begin(c wasmjob.Context, f *os.File) (int64, error) {
	offset, err := c.State().Int("offset")
	if err != nil {
		return 0, err
	}
	end, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return 0, fmt.Errorf("read the journal: %w", err)
	}
	if end < offset {
		c.Logf(wasmjob.LevelWarn, "the journal has %d bytes, %d were read before: it is read from its beginning", end, offset)
		offset = 0
	}
	if _, err := f.Seek(offset, io.SeekStart); err != nil {
		return 0, fmt.Errorf("read the journal: %w", err)
	}
	return offset, nil
}

// process adds the amounts of a batch to the stored total.
func process(c wasmjob.Context, in wasmjob.Batch) error {
	total, err := c.State().Int("total")
	if err != nil {
		return err
	}
	lines, err := in.All()
	if err != nil {
		return err
	}
	sum := int64(0)
	for i, line := range lines {
		_, number, _ := bytes.Cut(line, []byte(" "))
		amount, err := strconv.ParseInt(string(number), 10, 32)
		if err == nil {
			sum += amount
			continue
		}
		c.Logf(wasmjob.LevelWarn, "not a name and a number: %q", line)
		if err := in.Ack(i, wasmjob.AckFailed); err != nil {
			return err
		}
	}
	if err := c.Metric("amount", float64(sum)); err != nil {
		return err
	}
	total += sum
	if err := c.State().SetInt("total", total); err != nil {
		return err
	}
	return c.ResultString(strconv.FormatInt(total, 10))
}
