package conformance

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
)

// maxLine bounds one request or answer as text: a module of 16 MiB fits.
const maxLine = 32 << 20

// Process is a host in another program. The program reads a request as one line of JSON
// from its stdin and writes the answer as one line to its stdout, until its stdin ends.
// An answer may be {"error": "…"} if the program cannot answer. A program that ended
// without an answer, or was ended because it gave none, is started again for the next
// request.
type Process struct {
	start func() (*program, error)
	now   *program // nil until the next request
}

// program is a started program.
type program struct {
	cmd *exec.Cmd // nil in tests
	in  io.WriteCloser
	to  io.Closer // of out
	out *bufio.Scanner
}

// reply is an answer in its encoded form.
type reply struct {
	Answer
	Error string `json:"error,omitempty"`
}

// Command starts a program as a host; its stderr goes to ours.
func Command(ctx context.Context, name string, args ...string) (*Process, error) {
	p := &Process{start: func() (*program, error) {
		cmd := exec.CommandContext(ctx, name, args...) //nolint:gosec // which host is checked is the caller's choice
		cmd.Stderr = os.Stderr
		in, err := cmd.StdinPipe()
		if err != nil {
			return nil, fmt.Errorf("start host %s: %w", name, err)
		}
		out, err := cmd.StdoutPipe()
		if err != nil {
			return nil, fmt.Errorf("start host %s: %w", name, err)
		}
		if err := cmd.Start(); err != nil {
			return nil, fmt.Errorf("start host %s: %w", name, err)
		}
		return newProgram(cmd, in, out), nil
	}}
	var err error
	p.now, err = p.start()
	return p, err
}

// newProgram speaks with a program over its stdin and stdout.
func newProgram(cmd *exec.Cmd, in io.WriteCloser, out io.ReadCloser) *program {
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, maxLine)
	return &program{cmd, in, out, lines}
}

// Do implements Host. When ctx ends the program is ended, too: a request cannot be
// cancelled otherwise.
func (p *Process) Do(ctx context.Context, r Request) (Answer, error) {
	if p.now == nil {
		var err error
		if p.now, err = p.start(); err != nil {
			return Answer{}, err
		}
	}
	a, lives, err := p.now.do(ctx, r)
	if !lives {
		_ = p.now.end() // err has the reason
		p.now = nil
	}
	return a, err
}

// do sends one request, and reports whether the program can take another.
func (p *program) do(ctx context.Context, r Request) (a Answer, lives bool, err error) {
	line, err := json.Marshal(r)
	if err != nil {
		return Answer{}, true, fmt.Errorf("encode request: %w", err)
	}
	defer context.AfterFunc(ctx, p.kill)()
	// A program may answer before it has read all, and neither side waits for the other.
	sent := make(chan error, 1)
	go func() {
		_, err := p.in.Write(append(line, '\n'))
		sent <- err
	}()
	answered := p.out.Scan()
	if !answered {
		p.kill() // it may not even read
	}
	if err := <-sent; err != nil && answered {
		return Answer{}, false, fmt.Errorf("send request to host: %w", err)
	}
	switch {
	case answered:
	case ctx.Err() != nil:
		return Answer{}, false, fmt.Errorf("wait for the host: %w", ctx.Err())
	case p.out.Err() != nil:
		return Answer{}, false, fmt.Errorf("read answer of host: %w", p.out.Err())
	default:
		return Answer{}, false, errors.New("the host ended without an answer")
	}
	var text reply
	if err := json.Unmarshal(p.out.Bytes(), &text); err != nil {
		return Answer{}, ctx.Err() == nil, fmt.Errorf("read answer of host: %w", err)
	}
	if text.Error != "" {
		return Answer{}, ctx.Err() == nil, fmt.Errorf("the host: %s", text.Error)
	}
	return text.Answer, ctx.Err() == nil, nil
}

// kill ends the program. Its output may have been inherited by another process, which
// would keep it open.
func (p *program) kill() {
	_ = p.in.Close()
	if p.cmd != nil {
		_ = p.cmd.Process.Kill()
	}
	_ = p.to.Close()
}

// end waits for the end of a program that gets no further request.
func (p *program) end() error {
	err := p.in.Close()
	if p.cmd != nil {
		err = errors.Join(err, p.cmd.Wait())
	}
	return err
}

// Close ends the program.
func (p *Process) Close() error {
	if p.now == nil {
		return nil
	}
	if err := p.now.end(); err != nil {
		return fmt.Errorf("end host: %w", err)
	}
	return nil
}

// Serve is the counterpart of Command: it answers requests with h until the input ends.
func Serve(ctx context.Context, h Host, in io.Reader, out io.Writer) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, maxLine)
	w := json.NewEncoder(out)
	for lines.Scan() {
		var r Request
		var a reply
		err := json.Unmarshal(lines.Bytes(), &r)
		if err == nil {
			a.Answer, err = h.Do(ctx, r)
		}
		if err != nil {
			a.Error = err.Error()
		}
		if err := w.Encode(a); err != nil {
			return fmt.Errorf("write answer: %w", err)
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("read request: %w", err)
	}
	return nil
}
