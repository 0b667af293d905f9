package host

import (
	"context"
	"errors"

	"github.com/wasmjob/wasmjob/host/trace"
)

// sinks is a Sink that writes to several. A row is safe when all of them have it.
type sinks []trace.Sink

// Write stores the batch in all sinks. If one of them refuses a row for ever (ErrRow), the others
// get it anyway. After any other error the caller repeats the batch.
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
