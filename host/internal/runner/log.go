package runner

import (
	"context"
	"log/slog"
)

// guestLog returns the log of guests. The sandbox adds job and item.
func (r *Runner) guestLog() *slog.Logger { return r.serverLog.With("source", "guest") }

// ofJob adds the job to every line of a log, as Logger.With does, but costs only the
// name: a server may have very many jobs.
type ofJob struct {
	slog.Handler
	name string
}

// Handle implements slog.Handler. The job is the first attribute.
func (h ofJob) Handle(ctx context.Context, r slog.Record) error {
	named := slog.NewRecord(r.Time, r.Level, r.Message, r.PC)
	named.AddAttrs(slog.String("job", h.name))
	r.Attrs(func(a slog.Attr) bool {
		named.AddAttrs(a)
		return true
	})
	return h.Handler.Handle(ctx, named) //nolint:wrapcheck // it stands for the handler
}

// WithAttrs implements slog.Handler.
func (h ofJob) WithAttrs(attrs []slog.Attr) slog.Handler { return h.named().WithAttrs(attrs) }

// WithGroup implements slog.Handler.
func (h ofJob) WithGroup(name string) slog.Handler { return h.named().WithGroup(name) }

// named returns a handler that has the job among its attributes, for handlers made from it.
func (h ofJob) named() slog.Handler {
	return h.Handler.WithAttrs([]slog.Attr{slog.String("job", h.name)})
}
