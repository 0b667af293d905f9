// Command wasmjobd runs scheduled, sharded jobs whose code is a WebAssembly
// module, and holds the verbs that work on their files.
//
// It is not a place for decisions: this package parses flags, wires packages
// together and prints. Each verb lives in its own file and is listed in
// root.go.
//
// Flow: main → run → the verb's RunE → a library package → output.go.
package main

import (
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"syscall"
	_ "time/tzdata" // time zones must not depend on what the server has installed

	"github.com/wasmjob/wasmjob/host"
)

func main() {
	os.Exit(runAs(context.Background(), os.Args, os.Environ(), os.Stdin, os.Stdout, os.Stderr))
}

// run is the whole program without its process: args are without the name of
// the program, env is in the form of os.Environ. It returns the exit code.
func run(ctx context.Context, args, env []string, stdin io.Reader, stdout, stderr io.Writer) int {
	return runAs(ctx, append([]string{"wasmjobd"}, args...), env, stdin, stdout, stderr)
}

// runAs is run, with the name by which the program was called before the other
// args.
func runAs(ctx context.Context, args, env []string, stdin io.Reader, stdout, stderr io.Writer) int {
	data := &dataWriter{to: stdout}
	term := &terminal{program: args[0], env: env, in: stdin, out: data, err: stderr}
	root := rootCommand(term)
	root.SetArgs(args[1:])
	defer func() {
		if term.flush != nil {
			term.flush()
		}
	}()
	err := root.ExecuteContext(ctx)
	if err == nil {
		err = data.lost()
	}
	if err == nil {
		return exitOK
	}
	return report(term, err)
}

// report prints err for a person and returns the exit code that it stands for.
func report(term *terminal, err error) int {
	var coded *exitError
	switch {
	case errors.As(err, &coded):
	case !term.started:
		// Cobra refused the command line before any verb ran.
		coded = usage("%w", err)
	default:
		coded = &exitError{code: exitFailure, err: err}
	}
	if coded.err != nil {
		term.note("wasmjobd: %v", coded.err)
	}
	return coded.code
}

// signalError is the cause of a context that a signal ended.
type signalError struct{ sig os.Signal }

func (e signalError) Error() string { return "ended by " + e.sig.String() }

// Is tells a server that Ctrl-C, unlike the signal of a service manager, does not
// give running items the time to end by themselves.
func (e signalError) Is(target error) bool { return target == host.ErrStopNow && e.sig == os.Interrupt }

func (e signalError) code() int {
	if e.sig == syscall.SIGTERM {
		return exitTerminated
	}
	return exitInterrupted
}

// untilSignal runs the part of a verb that a signal should end in order: the
// first SIGINT or SIGTERM cancels do's context. What do then says of the
// cancellation becomes the signal's exit code. The other verbs, and what is
// read before, just end.
func untilSignal(ctx context.Context, do func(context.Context) error) error {
	ctx, stop := withSignals(ctx)
	defer stop()
	err := do(ctx)
	var ended signalError
	if errors.Is(err, context.Canceled) && errors.As(context.Cause(ctx), &ended) {
		return &exitError{code: ended.code()}
	}
	return err
}

// withSignals returns a context that the first SIGINT or SIGTERM cancels. The
// second one finds the default behaviour of the system and ends the process at
// once, so a verb that hangs while it cleans up can still be stopped. The
// returned function ends the watch and waits for it.
func withSignals(parent context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(parent)
	signals := make(chan os.Signal, 1) // package signal drops what finds no room
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		select {
		case sig := <-signals:
			signal.Stop(signals)
			cancel(signalError{sig})
		case <-quit:
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		close(quit)
		<-done
		cancel(nil)
	}
}
