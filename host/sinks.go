package host

import (
	"context"
	"errors"

	"github.com/wasmjob/wasmjob/host/trace"
)

// sinks is all of them as one: a row is safe when the last one has it.
type sinks []trace.Sink

// Write stores the batch everywhere. That one of them can never take a row does
// not keep it from the others.
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
