package runner

import (
	"context"
	"time"

	"github.com/wasmjob/wasmjob/host/trace"
)

// sinkWait is how long a member's end waits for a write that is under way.
const sinkWait = time.Second

// sink lets successive members write rows. A write that ignores its context, such as one
// to a hanging disk, must not keep a member from ending, since its items would then not go to
// other servers. The channel holds one element while a write is under way.
type sink chan struct{}

// Write calls to.Write. When ctx ends it returns soon, even if the write goes on.
func Write(ctx context.Context, to trace.Sink, rows []trace.Row) error {
	return make(sink, 1).write(ctx, to, rows)
}

// write calls to.Write. When ctx ends it returns soon, even if the write goes on; then
// the next write waits for that one.
func (s sink) write(ctx context.Context, to trace.Sink, rows []trace.Row) error {
	select {
	case s <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	done := make(chan error, 1)
	go func() { // it cannot be ended; the next write waits for it
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
