package queue

import (
	"context"
	"io"
	"log/slog"
	"time"
)

// Handler is a slog.Handler that queues records for another one, which may
// block. Make it with NewHandler.
type Handler struct {
	*Queue
	inner slog.Handler
}

// NewHandler makes a Handler with a queue of its own. Dropped records leave one
// that counts them.
func NewHandler(inner slog.Handler) Handler {
	return Handler{New(nil, func(dropped int64) {
		r := slog.NewRecord(time.Now(), slog.LevelWarn, "the log took no lines for a while, and some are lost", 0)
		r.AddAttrs(slog.Int64("lines", dropped))
		_ = inner.Handle(context.Background(), r) //nolint:forbidigo // nobody calls; and errors are nobody's, as with a Logger
	}), inner}
}

// Enabled is part of slog.Handler.
func (h Handler) Enabled(ctx context.Context, l slog.Level) bool { return h.inner.Enabled(ctx, l) }

// Handle is part of slog.Handler. It does not block.
func (h Handler) Handle(ctx context.Context, r slog.Record) error {
	r = r.Clone()
	ctx = context.WithoutCancel(ctx)
	h.Put(sizeOf(r), func() { _ = h.inner.Handle(ctx, r) })
	return nil
}

// WithAttrs is part of slog.Handler.
func (h Handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return Handler{h.Queue, h.inner.WithAttrs(attrs)}
}

// WithGroup is part of slog.Handler.
func (h Handler) WithGroup(name string) slog.Handler {
	return Handler{h.Queue, h.inner.WithGroup(name)}
}

// attrSize is about what an attribute occupies beside its texts.
const attrSize = 64

// sizeOf is about what a record occupies.
func sizeOf(r slog.Record) int {
	size := len(r.Message)
	r.Attrs(func(a slog.Attr) bool {
		size += attrSize + len(a.Key)
		switch v := a.Value.Any().(type) {
		case string:
			size += len(v)
		case error:
			size += len(v.Error())
		}
		return true
	})
	return size
}

// Writer writes through the queue, each Write by itself and in its place among
// all else that is put.
func (q *Queue) Writer(to io.Writer) io.Writer { return writer{q, to} }

type writer struct {
	q  *Queue
	to io.Writer
}

func (w writer) Write(p []byte) (int, error) {
	own := append([]byte(nil), p...)
	w.q.Put(len(own), func() { _, _ = w.to.Write(own) }) // nobody is left to be told
	return len(p), nil
}
