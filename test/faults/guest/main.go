// Command guest is the job of the fault tests. It reports each of its actions at once in
// a file that all servers share, whatever happens to its server.
//
// A line is
//
//	word run attempt token instance milliseconds [element]
//
// and is appended with one write, so the order of the lines is the order of the actions.
// "start" is the first line of an attempt. While it works there is a "beat" every 50 ms
// or, in a dataflow job, an "element" for each element. "end" means that it has finished,
// "stop" that it gave up because it was asked to. An attempt that was ended from outside
// has neither. The first and the last line are synced to disk before the guest goes on.
//
// The parameter of the item says for how many milliseconds to work, or how many elements
// a batch has. With "deaf" a guest ignores requests to stop.
package main

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	wasmjob "github.com/wasmjob/wasmjob/abi/go"
	"github.com/wasmjob/wasmjob/abi/go/dataflow"
	"github.com/wasmjob/wasmjob/abi/go/simple"
)

//nolint:gochecknoinits // a module has no other moment to say what it is
func init() {
	simple.Register(work)
	dataflow.Register(fetch, process)
}

func main() {}

// beat is the time between two signs of life.
const beat = 50 * time.Millisecond

// evidence is the file, opened for one attempt.
type evidence struct {
	c    wasmjob.Context
	file *os.File
}

// open opens the file of the evidence. Only tests name another one.
func open(c wasmjob.Context) (*evidence, error) {
	name, ok := c.Config("file")
	if !ok {
		name = "/evidence/lines"
	}
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the evidence: %w", err)
	}
	return &evidence{c, f}, nil
}

func (e *evidence) close() { _ = e.file.Close() } // what matters was synced

// report appends a line.
func (e *evidence) report(word string, more ...string) error {
	now, err := e.c.Now()
	if err != nil {
		return err
	}
	fields := append([]string{word, e.c.RunID(), strconv.Itoa(e.c.Attempt()), strconv.FormatInt(e.c.Fence(), 10),
		e.c.Instance(), strconv.FormatInt(now.UnixMilli(), 10)}, more...)
	if _, err := e.file.WriteString(strings.Join(fields, " ") + "\n"); err != nil {
		return fmt.Errorf("write evidence: %w", err)
	}
	return nil
}

// reportSynced appends a line and waits until it is on the disk.
func (e *evidence) reportSynced(word string) error {
	if err := e.report(word); err != nil {
		return err
	}
	if err := e.file.Sync(); err != nil {
		return fmt.Errorf("sync evidence: %w", err)
	}
	return nil
}

// part parses the parameter of the item: how many milliseconds to work or how many
// elements a batch has, and whether the guest is deaf.
func part(c wasmjob.Context) (amount int, deaf bool, err error) {
	param, _ := c.Param()
	number, rest, _ := strings.Cut(param, " ")
	amount, err = strconv.Atoi(number)
	if err != nil {
		return 0, false, fmt.Errorf("read the item's parameter: %w", err)
	}
	return amount, rest == "deaf", nil
}

// work reports its start, signs of life and its end. In between it waits for the time in the
// parameter.
func work(c wasmjob.Context) error {
	e, err := open(c)
	if err != nil {
		return err
	}
	defer e.close()
	ms, deaf, err := part(c)
	if err != nil {
		return err
	}
	if err := e.reportSynced("start"); err != nil {
		return err
	}
	for left := time.Duration(ms) * time.Millisecond; left > 0; left -= beat {
		if err := e.wait(min(left, beat), deaf); err != nil {
			return err
		}
		if err := e.report("beat"); err != nil {
			return err
		}
	}
	return e.reportSynced("end")
}

// wait waits. A guest that is asked to stop reports that and fails, unless it is deaf.
func (e *evidence) wait(d time.Duration, deaf bool) error {
	begun, err := e.c.Now()
	if err != nil {
		return err
	}
	asked := e.c.Sleep(d)
	switch {
	case asked == nil:
		return nil
	case !errors.Is(asked, wasmjob.ErrCancelled):
		return asked
	case !deaf:
		return errors.Join(asked, e.reportSynced("stop"))
	}
	// A guest that was asked to stop cannot sleep any more.
	for now := begun; now.Sub(begun) < d; {
		if now, err = e.c.Now(); err != nil {
			return err
		}
	}
	return nil
}

// fetch fetches the elements after those of the last stored batch.
func fetch(c wasmjob.Context, out wasmjob.Sink) error {
	e, err := open(c)
	if err != nil {
		return err
	}
	defer e.close()
	n, _, err := part(c)
	if err != nil {
		return err
	}
	if err := e.reportSynced("start"); err != nil {
		return err
	}
	next, err := c.State().Int("next")
	if err != nil {
		return err
	}
	for i := range n {
		if err := out.AddString(strconv.FormatInt(next+int64(i), 10)); err != nil {
			return err
		}
	}
	return nil
}

// process spends time on each element, and stores where the next batch begins.
func process(c wasmjob.Context, in wasmjob.Batch) error {
	e, err := open(c)
	if err != nil {
		return err
	}
	defer e.close()
	elements, err := in.All()
	if err != nil {
		return err
	}
	for _, element := range elements {
		if err := e.report("element", string(element)); err != nil {
			return err
		}
		if err := e.wait(beat, false); err != nil {
			return err
		}
	}
	next, err := c.State().Int("next")
	if err != nil {
		return err
	}
	if err := c.State().SetInt("next", next+int64(len(elements))); err != nil {
		return err
	}
	return e.reportSynced("end")
}
