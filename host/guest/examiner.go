package guest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/internal/module"
	"github.com/wasmjob/wasmjob/host/internal/sandbox"
)

const (
	// examineTimeout is the limit for an examination. Modules that take longer to compile
	// are rare, and a job compiles them all the same.
	examineTimeout = 60 * time.Second
	// examineMemory is what an examination may take in addition to the program itself.
	examineMemory = 1 << 30
	// maxExamination is the limit of what the subprocess writes, in bytes.
	maxExamination = 4 << 20
)

// Examiner examines modules, each in a process of its own, since compiling a hostile one
// may end the process. Its methods are safe for concurrent use.
type Examiner struct {
	program []string
	busy    chan struct{} // an examination holds its slot
}

// NewExaminer returns an Examiner. program is the command line of a program that calls
// ExamineInSubprocess.
func NewExaminer(program []string) *Examiner {
	return &Examiner{program: program, busy: make(chan struct{}, 1)}
}

// Examine is the function Examine in a subprocess, which alone has the module in memory. While another module is examined, it
// waits. A module that ends the subprocess, or takes too long, is Invalid.
func (x *Examiner) Examine(ctx context.Context, wasm io.Reader) (found Examination, err error) {
	const what = "examine a module"
	if len(x.program) == 0 {
		return found, &host.Error{Code: host.Unavailable, Msg: what + ": this program has no command for it"}
	}
	select {
	case x.busy <- struct{}{}:
		defer func() { <-x.busy }()
	case <-ctx.Done():
		return found, &host.Error{Code: host.Unavailable, Msg: what + ": others are examined; try again", Err: ctx.Err()}
	}
	limited, cancel := context.WithTimeout(ctx, examineTimeout)
	defer cancel()
	cmd, done, err := sandbox.Subprocess(limited, x.program)
	if err != nil {
		return found, &host.Error{Code: host.Internal, Msg: what, Err: err}
	}
	defer done()
	var out, said firstBytes
	out.most, said.most = maxExamination, trialText
	cmd.Stdin, cmd.Stdout, cmd.Stderr = wasm, &out, &said
	err = cmd.Run()
	switch {
	case ctx.Err() != nil:
		return found, &host.Error{Code: host.Unavailable, Msg: what, Err: ctx.Err()}
	case limited.Err() != nil:
		return found, &host.Error{Code: host.Invalid, Msg: fmt.Sprintf("%s: compiling it and running it once took longer than %s", what, examineTimeout)}
	case err != nil:
		return found, &host.Error{Code: host.Invalid, Msg: fmt.Sprintf("%s: compiling it or running it once ended the process, which may take %d MiB: %v %s", what, examineMemory>>20, err, firstLine(said.text.String()))}
	}
	if err := json.Unmarshal(out.text.Bytes(), &found); err != nil {
		return found, &host.Error{Code: host.Internal, Msg: what + ": read the report", Err: err}
	}
	return found, nil
}

// firstLine is what a process said first: behind it come the stacks of this program.
func firstLine(said string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(legible(said)), "\n")
	return line
}

// ExamineInSubprocess is the main function of the program that an Examiner starts. It
// examines the module that it reads, and writes the report.
func ExamineInSubprocess(ctx context.Context, in io.Reader, out io.Writer) error {
	if err := sandbox.Confine(examineMemory); err != nil {
		return fmt.Errorf("examine a module: %w", err)
	}
	wasm, err := io.ReadAll(io.LimitReader(in, module.MaxSize+1))
	if err != nil {
		return fmt.Errorf("read the module: %w", err)
	}
	if len(wasm) > module.MaxSize {
		return errors.New("the module is too big")
	}
	found, err := Examine(ctx, wasm)
	if err != nil {
		return err
	}
	if err := json.NewEncoder(out).Encode(found); err != nil {
		return fmt.Errorf("write what was found: %w", err)
	}
	return nil
}

// firstBytes keeps the first bytes that are written, and takes all.
type firstBytes struct {
	most int
	text bytes.Buffer
}

// Write implements io.Writer.
func (f *firstBytes) Write(b []byte) (int, error) {
	f.text.Write(b[:min(len(b), f.most-f.text.Len())])
	return len(b), nil
}
