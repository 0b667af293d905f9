package host

import (
	"context"
	"errors"

	"github.com/wasmjob/wasmjob/host/trace"
)

// sinks is a Sink that writes to all of them. A row is safe when the last one has it.
type sinks []trace.Sink

// Write stores the batch in all sinks. If one of them never takes a row, the others get it
// all the same.
func (s sinks) Write(ctx context.Context, batch []trace.Row) error {
	var refused error
	for _, sink := range s {
		err := sink.Write(ctx, batch)
		switch {
		case errors.Is(err, trace.ErrRow):
			refused = errors.Join(refused, err)
		case err != nil:
			return err
		}
	}
	return refused
}
