package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"
)

func TestExitCodes(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		started bool
		err     error
		code    int
		says    string
	}{
		{"coded", true, fmt.Errorf("outer: %w", exitf(exitNotFound, "no such job")), exitNotFound, "wasmjobd: no such job\n"},
		{"said_already", true, &exitError{code: exitInvalid}, exitInvalid, ""},
		{"unexpected", true, errors.New("disk is full"), exitFailure, "wasmjobd: disk is full\n"},
		{"before_the_verb", false, errors.New("unknown flag"), exitUsage, "wasmjobd: unknown flag\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var out, say bytes.Buffer
			code := report(&terminal{out: &out, err: &say, started: tt.started}, tt.err)
			if code != tt.code || say.String() != tt.says || out.Len() > 0 {
				t.Errorf("code %d, err %q, out %q; want code %d, err %q", code, say.String(), out.String(), tt.code, tt.says)
			}
		})
	}
}

func TestASignalHasAnExitCode(t *testing.T) {
	t.Parallel()
	for sig, want := range map[os.Signal]int{os.Interrupt: exitInterrupted, syscall.SIGTERM: exitTerminated} {
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(signalError{sig})
		for err, code := range map[error]int{
			context.Canceled:                         want,
			fmt.Errorf("wait: %w", context.Canceled): want,
			exitf(exitRunFailed, "trap"):             exitRunFailed,
		} {
			got := report(&terminal{err: io.Discard, started: true}, untilSignal(ctx, func(context.Context) error { return err }))
			if got != code {
				t.Errorf("%v and %v: code %d, want %d", sig, err, got, code)
			}
		}
	}
}

// torn is a writer whose writes fail.
type torn struct{ err error }

func (w torn) Write([]byte) (int, error) { return 0, w.err }

func TestLostDataIsAFailure(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"version"}, {"version", "-o", "json"}, {"next", "* * * * * ?"}} {
		var say bytes.Buffer
		if code := run(t.Context(), args, nil, nil, torn{syscall.ENOSPC}, &say); code != exitFailure || !strings.Contains(say.String(), "no space left") {
			t.Errorf("%q on a full disk: code %d, %s", args, code, &say)
		}
	}
	var say bytes.Buffer
	if code := run(t.Context(), []string{"next", "* * * * * ?"}, nil, nil, torn{syscall.EPIPE}, &say); code != exitOK || say.Len() > 0 {
		t.Errorf("a reader who had enough: code %d, %s", code, &say)
	}
}

func TestRunWithoutAProcess(t *testing.T) {
	t.Parallel()
	var out, say bytes.Buffer
	text := "[jobs.j]\nmodule = 'm'\nschedule = 'manual'\n[modules.m]\nsource = '${SOURCE}'\n"
	code := run(t.Context(), []string{"validate", "-"}, []string{"SOURCE=m.wasm"}, strings.NewReader(text), &out, &say)
	if code != exitOK || !strings.HasPrefix(out.String(), "-: valid, 1 job, 1 module\n") || say.Len() > 0 {
		t.Errorf("code %d, out %q, err %q", code, out.String(), say.String())
	}
}

func TestTheFirstSignalCancels(t *testing.T) {
	ctx, stop := withSignals(t.Context(), signalled{})
	defer stop()
	if err := syscall.Kill(os.Getpid(), syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	<-ctx.Done()
	var ended signalError
	if !errors.As(context.Cause(ctx), &ended) || ended.code() != exitTerminated {
		t.Errorf("cause is %v", context.Cause(ctx))
	}
}
