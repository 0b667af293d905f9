package runner

import (
	"context"
	"log/slog"
)

// guestLog is where guests write; the sandbox adds job and item.
func (r *Runner) guestLog() *slog.Logger { return r.serverLog.With("source", "guest") }

// ofJob names the job in every line of a log. It does what Logger.With would,
// but each of many jobs keeps nothing more than its name.
type ofJob struct {
	slog.Handler
	name string
}

func (h ofJob) Handle(ctx context.Context, r slog.Record) error {
	named := slog.NewRecord(r.Time, r.Level, r.Message, r.PC)
	named.AddAttrs(slog.String("job", h.name))
	r.Attrs(func(a slog.Attr) bool {
		named.AddAttrs(a)
		return true
	})
	return h.Handler.Handle(ctx, named) //nolint:wrapcheck // it does what the handler would
}

// WithAttrs and WithGroup give what Logger.With would have given.
func (h ofJob) WithAttrs(attrs []slog.Attr) slog.Handler { return h.named().WithAttrs(attrs) }

// WithGroup see WithAttrs.
func (h ofJob) WithGroup(name string) slog.Handler { return h.named().WithGroup(name) }

func (h ofJob) named() slog.Handler {
	return h.Handler.WithAttrs([]slog.Attr{slog.String("job", h.name)})
}
