package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/wasmjob/wasmjob/host/job"
)

// signalError is the cause of a context that a signal ended.
type signalError struct{ sig os.Signal }

func (e signalError) Error() string { return "ended by " + e.sig.String() }

// Is makes Ctrl-C, unlike a service manager's signal, an ErrStopNow: running items get no time
// to end by themselves.
func (e signalError) Is(target error) bool { return target == job.ErrStopNow && e.sig == os.Interrupt }

func (e signalError) code() int {
	if e.sig == os.Interrupt {
		return exitInterrupted
	}
	return exitTerminated
}

// signalled is what a verb does at signals besides ending in order.
type signalled struct {
	hangup func() (ends bool) // at SIGHUP; it returns whether the verb ends like at SIGTERM; nil: SIGHUP ends the process
	lastly func()             // before a second signal ends the process; nil: nothing
}

// untilSignal runs the part of a verb that a signal should end in order: the first SIGINT or
// SIGTERM cancels do's context. The error that do returns because of that gets the signal's
// exit code. Other verbs, and the reading of files before, end at once.
func untilSignal(ctx context.Context, do func(context.Context) error) error {
	return untilSignals(ctx, signalled{}, do)
}

// untilSignals is untilSignal for a verb that does more at signals.
func untilSignals(ctx context.Context, s signalled, do func(context.Context) error) error {
	ctx, stop := withSignals(ctx, s)
	defer stop()
	err := do(ctx)
	var ended signalError
	if errors.Is(err, context.Canceled) && errors.As(context.Cause(ctx), &ended) {
		return &exitError{code: ended.code()}
	}
	return err
}

// withSignals returns a context that the first SIGINT or SIGTERM cancels. The second one ends
// the process as soon as lastly has returned, so a verb that hangs during its cleanup can still
// be stopped; a third does not wait for lastly. A watched SIGHUP is no second signal: a closing
// terminal may send several. SIGHUP is not watched if the process ignores it, as under nohup.
// The returned function ends the watch and waits for it.
func withSignals(parent context.Context, s signalled) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(parent)
	signals := make(chan os.Signal, 2) // package signal drops signals that find no room
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	hangups := make(chan os.Signal, 1)
	if s.hangup != nil && !signal.Ignored(syscall.SIGHUP) {
		signal.Notify(hangups, syscall.SIGHUP)
	}
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		// Wait for the first signal that ends the verb.
		for ending := false; !ending; {
			select {
			case sig := <-signals:
				if s.lastly == nil {
					signal.Stop(signals) // from now on the system ends the process, whatever it does
				}
				ending = true
				cancel(signalError{sig})
			case sig := <-hangups:
				if ending = s.hangup(); ending {
					cancel(signalError{sig})
				}
			case <-quit:
				return
			}
		}
		// Wait for the second one.
		select {
		case sig := <-signals:
			signal.Stop(signals) // a third ends the process while lastly runs
			s.lastly()
			endBy(sig)
		case <-quit:
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		signal.Stop(hangups)
		close(quit)
		<-done
		cancel(nil)
	}
}

// endBy ends the process as the signal would without a handler, so that shells and service
// managers recognise the cause.
func endBy(sig os.Signal) {
	signal.Reset(sig)
	if p, err := os.FindProcess(os.Getpid()); err == nil && p.Signal(sig) == nil {
		time.Sleep(time.Second) // the signal may come at any moment, but does not reach the first process of a container
	}
	os.Exit(signalError{sig}.code())
}
