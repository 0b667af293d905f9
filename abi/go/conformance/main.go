// Command conformance is the guest with which the conformance kit checks this SDK, for Go
// and TinyGo from the same source; abi/conformance/GUEST.md describes it. The parameter
// of the job selects the case.
//
// It is not an example: a normal module registers only the kind of job that it is for.
package main

import (
	"errors"
	"strconv"
	"strings"

	wasmjob "github.com/wasmjob/wasmjob/abi/go"
	"github.com/wasmjob/wasmjob/abi/go/dataflow"
	"github.com/wasmjob/wasmjob/abi/go/listener/after"
	"github.com/wasmjob/wasmjob/abi/go/listener/before"
	"github.com/wasmjob/wasmjob/abi/go/listener/completed"
	"github.com/wasmjob/wasmjob/abi/go/listener/started"
	"github.com/wasmjob/wasmjob/abi/go/simple"
	"github.com/wasmjob/wasmjob/abi/go/strategy"
)

func init() { //nolint:gochecknoinits // a module has no other moment to say what it is
	simple.Register(execute)
	dataflow.Register(fetch, process)
	strategy.Register(shard)
	before.Register(func(c wasmjob.Context) error {
		c.Info("before")
		if c.JobParam() == "veto" {
			return wasmjob.Skip
		}
		return nil
	})
	after.Register(ended)
	started.Register(says("started"))
	completed.Register(fire)
}

func main() {}

// says returns a listener that logs its name.
func says(name string) func(wasmjob.Context) error {
	return func(c wasmjob.Context) error {
		c.Info(name)
		return nil
	}
}

// ended is the listener that learns how the run has ended.
func ended(c wasmjob.Context) error {
	c.Info("after")
	line := "ended unknown"
	if how, ok := c.Ended(); ok {
		line = "ended " + strconv.Itoa(int(how))
	}
	if reason := c.EndedReason(); reason != "" {
		line += " " + reason
	}
	c.Info(line)
	return nil
}

// fire is the listener that learns how all items have ended.
func fire(c wasmjob.Context) error {
	c.Info("completed")
	line := "fire unknown"
	if f, ok := c.Fire(); ok {
		line = "fire " + strconv.Itoa(f.Succeeded) + " " + strconv.Itoa(f.Failed) + " " + strconv.Itoa(f.Skipped)
	}
	c.Info(line)
	return nil
}

// selected returns the case and its argument.
func selected(c wasmjob.Context) (name, argument string) {
	name, argument, _ = strings.Cut(c.JobParam(), ":")
	return name, argument
}

// number parses the argument of a case, or an element.
func number(argument string) (int, error) {
	n, err := strconv.Atoi(argument)
	if err != nil {
		return 0, errors.New("read a number: " + err.Error())
	}
	return n, nil
}

// unknown is the error for a case that this guest does not have.
func unknown(name string) error { return errors.New("there is no case " + name) }

// word returns the kit's name of an error.
func word(err error) string {
	for _, e := range []struct {
		is   wasmjob.HostError
		name string
	}{
		{wasmjob.ErrDenied, "denied"},
		{wasmjob.ErrInvalid, "invalid"},
		{wasmjob.ErrLimit, "limit"},
		{wasmjob.ErrTimeout, "timeout"},
		{wasmjob.ErrIO, "io"},
		{wasmjob.ErrCancelled, "stopped"},
		{wasmjob.ErrConflict, "conflict"},
		{wasmjob.ErrNotFound, "none"},
	} {
		if errors.Is(err, e.is) {
			return e.name
		}
	}
	return err.Error()
}
