// Package script helps with jobs that are a plain program: the module is a WASI
// command, and a run is a call of main.
//
//	func main() { script.Main(report) }
//
//	func report(c script.Context, out io.Writer) error {
//		fmt.Fprintln(out, "item", c.Item, "of", c.Total)
//		return nil
//	}
//
// It is built without a build mode:
//
//	GOOS=wasip1 GOARCH=wasm go build -o report.wasm .
//	tinygo build -target=wasip1 -o report.wasm .
//
// Text written to out is the result; stderr is logged. The package does not use the
// host's functions, which are for the other kinds of jobs; a module that imports package
// wasmjob cannot be a script.
package script

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	// Imported for its effect on TinyGo.
	_ "github.com/wasmjob/wasmjob/abi/go/internal/panics"
)

// Context holds the facts about a script's run.
type Context struct {
	JobName, TaskID, JobParam string
	// Item is the sharding item that this run is for, from 0 to Total-1.
	Item, Total int
	Param       *string // of the item; nil if it has none
	// RunID is the same in every attempt of this run.
	RunID     string
	Attempt   int // from 1
	Scheduled time.Time
	// Fence is the fencing token: a later owner of the item has a larger one.
	Fence int64
	// Items are all items that this fire runs on this server, with their parameters.
	Items map[int]*string
	// Args are the arguments of the job.
	Args []string
}

// document is the context in its JSON form.
type document struct {
	JobName   string  `json:"jobName"`
	TaskID    string  `json:"taskId"`
	Total     int     `json:"shardingTotalCount"`
	JobParam  string  `json:"jobParameter"`
	Item      int     `json:"shardingItem"`
	ItemParam *string `json:"shardingParameter"`
	Own       struct {
		RunID     string          `json:"runId"`
		Attempt   int             `json:"attempt"`
		Scheduled int64           `json:"scheduledTime"`
		Fence     int64           `json:"fence"`
		Items     map[int]*string `json:"items"`
	} `json:"wasmjob"`
}

// Parse parses the arguments of a script: the name of the module, the job's own
// arguments, and last the context as JSON.
func Parse(args []string) (Context, error) {
	if len(args) < 2 {
		return Context{}, errors.New("read the context: it has to be the last argument, but there is none")
	}
	var d document
	if err := json.Unmarshal([]byte(args[len(args)-1]), &d); err != nil {
		return Context{}, fmt.Errorf("read the context in the last argument: %w", err)
	}
	return Context{
		JobName: d.JobName, TaskID: d.TaskID, JobParam: d.JobParam, Item: d.Item, Total: d.Total, Param: d.ItemParam,
		RunID: d.Own.RunID, Attempt: d.Own.Attempt, Scheduled: time.UnixMilli(d.Own.Scheduled), Fence: d.Own.Fence,
		Items: d.Own.Items, Args: args[1 : len(args)-1],
	}, nil
}

// Main runs a script and ends the program: with exit code 0 if it returns nil, otherwise
// with its error on stderr and the code of WithCode, or 1. A failed write to out is a
// failure, too, so the script need not check each write.
func Main(run func(c Context, out io.Writer) error) {
	os.Exit(play(os.Args, os.Stdout, os.Stderr, run))
}

// play runs a script and returns the exit code of its program.
func play(args []string, stdout, stderr io.Writer, run func(c Context, out io.Writer) error) int {
	out := bufio.NewWriter(stdout)
	c, err := Parse(args)
	if err == nil {
		err = run(c, out)
	}
	// Text written before a failure belongs to the result, too.
	if late := out.Flush(); err == nil {
		err = late
	}
	if err == nil {
		return 0
	}
	_, _ = io.WriteString(stderr, err.Error()+"\n") // there is no other way to report it
	var own *exit
	if errors.As(err, &own) {
		return own.code
	}
	return 1
}

// exit is an error with an exit code.
type exit struct {
	code int
	err  error
}

func (e *exit) Error() string { return e.err.Error() }
func (e *exit) Unwrap() error { return e.err }

// WithCode gives a failure an exit code from 1 to 255, which the host records with the
// run; any other code is ignored.
func WithCode(code int, err error) error {
	if err == nil || code < 1 || code > 255 {
		return err
	}
	return &exit{code, err}
}
