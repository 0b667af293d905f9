package runner

import (
	"context"
	"time"

	"github.com/wasmjob/wasmjob/host/trace"
)

// sinkWait is how long the end of a member waits for a write that is under way.
const sinkWait = time.Second

// sink lets one member after another write rows. A write that ignores its context, as
// to a disk that hangs, must not keep a member from ending, or its items from other
// servers. The channel holds one element while a write is under way.
type sink chan struct{}

// Write is to.Write for a single write. When ctx ends it returns soon, even if the
// write goes on.
func Write(ctx context.Context, to trace.Sink, rows []trace.Row) error {
	return make(sink, 1).write(ctx, to, rows)
}

// write is to.Write. When ctx ends it returns soon, even if the write goes on; the
// next write waits for that one.
func (s sink) write(ctx context.Context, to trace.Sink, rows []trace.Row) error {
	select {
	case s <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	done := make(chan error, 1)
	go func() { // nothing can end it; the next write waits for it
		defer func() { <-s }()
		done <- to.Write(ctx, rows)
	}()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	late := time.NewTimer(sinkWait)
	defer late.Stop()
	select {
	case err := <-done:
		return err
	case <-late.C:
		return ctx.Err()
	}
}
