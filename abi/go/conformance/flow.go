package main

import (
	"bytes"
	"errors"
	"strconv"

	wasmjob "github.com/wasmjob/wasmjob/abi/go"
)

// taken counts the fetches of this instance.
var taken int

// fetch is the first function of the dataflow job: it fills a batch for the case that the
// job's parameter names.
func fetch(c wasmjob.Context, out wasmjob.Sink) error {
	name, argument := selected(c)
	switch name {
	case "flow":
		n, err := number(argument)
		if err != nil {
			return err
		}
		n -= taken // each batch is smaller, so a stream ends
		taken++
		return add(out, n)
	case "flowfail", "flowpanic":
		return add(out, 1)
	case "flowack":
		return add(out, 3)
	case "offset":
		from, err := c.State().Int("offset")
		if err != nil {
			return err
		}
		for n := from; n < min(from+3, 7); n++ {
			if err := out.AddString(strconv.FormatInt(n, 10)); err != nil {
				return err
			}
		}
		return nil
	}
	return unknown(name)
}

// add adds the elements e0, e1 and so on.
func add(out wasmjob.Sink, n int) error {
	for i := range n {
		if err := out.AddString("e" + strconv.Itoa(i)); err != nil {
			return err
		}
	}
	return nil
}

// process is the second function of the dataflow job: it handles the batch.
func process(c wasmjob.Context, in wasmjob.Batch) error {
	elements, err := in.All()
	if err != nil {
		return err
	}
	switch name, _ := selected(c); name {
	case "flow":
		if err := c.Metric("seen", float64(len(elements))); err != nil {
			return err
		}
		return c.Result(bytes.Join(elements, []byte(",")))
	case "flowfail":
		return errors.New("bad batch")
	case "flowpanic":
		c.Info("processing")
		panic("it broke")
	case "flowack":
		outcomes := map[string]wasmjob.Outcome{"e0": wasmjob.AckDone, "e1": wasmjob.AckFailed, "e2": wasmjob.AckRetry}
		for i, e := range elements {
			if err := in.Ack(i, outcomes[string(e)]); err != nil {
				return err
			}
		}
		return nil
	case "offset":
		last, err := number(string(elements[len(elements)-1]))
		if err != nil {
			return err
		}
		if err := c.State().SetInt("offset", int64(last+1)); err != nil {
			return err
		}
		return c.ResultString(strconv.Itoa(last + 1))
	default:
		return unknown(name)
	}
}
