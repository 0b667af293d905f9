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
	// examineTimeout bounds one examination. The few modules that take longer to compile still
	// run as jobs.
	examineTimeout = 60 * time.Second
	// examineMemory is the memory that an examination may use on top of the program's own.
	examineMemory = 1 << 30
	// maxExamination bounds the subprocess's report, in bytes.
	maxExamination = 4 << 20
)

// Examiner examines each module in a process of its own, since compiling a hostile one can
// crash the process. Its methods are safe for concurrent use.
type Examiner struct {
	program []string
	busy    chan struct{} // holds one value during an examination
}

// NewExaminer returns an Examiner. program is the command line of a program that calls
// ExamineInSubprocess.
func NewExaminer(program []string) *Examiner {
	return &Examiner{program: program, busy: make(chan struct{}, 1)}
}

// Examine runs the function Examine in a subprocess, and streams the module to it. One module
// is examined at a time; further calls wait. A module that crashes the subprocess or takes too
// long is Invalid.
func (x *Examiner) Examine(ctx context.Context, wasm io.Reader) (found Examination, err error) {
	const what = "examine a module"
	if len(x.program) == 0 {
		return found, &host.Error{Code: host.Unavailable, Msg: what + ": this program has no command for it"}
	}
	select {
	case x.busy <- struct{}{}:
		defer func() { <-x.busy }()
	case <-ctx.Done():
		return found, &host.Error{Code: host.Unavailable, Msg: what + ": another module is being examined; try again", Err: ctx.Err()}
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

// firstLine returns the first line that a process printed; the stacks that follow a crash are
// this program's.
func firstLine(said string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(legible(said)), "\n")
	return line
}

// ExamineInSubprocess is the main function of the program that an Examiner starts. It reads a
// module, examines it, and writes the report.
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
		return fmt.Errorf("write the report: %w", err)
	}
	return nil
}

// firstBytes keeps the first bytes written to it, and discards the rest without an error.
type firstBytes struct {
	most int
	text bytes.Buffer
}

// Write implements io.Writer.
func (f *firstBytes) Write(b []byte) (int, error) {
	f.text.Write(b[:min(len(b), f.most-f.text.Len())])
	return len(b), nil
}
