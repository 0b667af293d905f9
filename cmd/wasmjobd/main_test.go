package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
)

func TestExitCodes(t *testing.T) {
	t.Parallel()
	ended := func(sig os.Signal) context.Context {
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(signalError{sig})
		return ctx
	}
	tests := []struct {
		name    string
		ctx     context.Context
		started bool
		err     error
		code    int
		says    string
	}{
		{"coded", t.Context(), true, fmt.Errorf("outer: %w", exitf(exitNotFound, "no such job")), exitNotFound, "wasmjobd: no such job\n"},
		{"said_already", t.Context(), true, &exitError{code: exitInvalid}, exitInvalid, ""},
		{"unexpected", t.Context(), true, errors.New("disk is full"), exitFailure, "wasmjobd: disk is full\n"},
		{"before_the_verb", t.Context(), false, errors.New("unknown flag"), exitUsage, "wasmjobd: unknown flag\n"},
		{"interrupt", ended(os.Interrupt), true, fmt.Errorf("wait: %w", context.Canceled), exitInterrupted, ""},
		{"terminate", ended(syscall.SIGTERM), true, context.Canceled, exitTerminated, ""},
		{"other_fault_after_a_signal", ended(os.Interrupt), true, exitf(exitRunFailed, "trap"), exitRunFailed, "wasmjobd: trap\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var out, say bytes.Buffer
			code := report(tt.ctx, &terminal{out: &out, err: &say, started: tt.started}, tt.err)
			if code != tt.code || say.String() != tt.says || out.Len() > 0 {
				t.Errorf("code %d, err %q, out %q; want code %d, err %q", code, say.String(), out.String(), tt.code, tt.says)
			}
		})
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
	ctx, stop := withSignals(t.Context())
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
