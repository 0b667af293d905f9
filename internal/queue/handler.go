package queue

import (
	"context"
	"encoding/json"
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

// NewHandler returns a Handler with its own queue. Dropped records are replaced by one
// that counts them.
func NewHandler(inner slog.Handler) Handler {
	return Handler{New(nil, func(dropped int64) {
		r := slog.NewRecord(time.Now(), slog.LevelWarn, "the log took no lines for a while, and some are lost", 0)
		r.AddAttrs(slog.Int64("lines", dropped))
		_ = inner.Handle(context.Background(), r) //nolint:forbidigo // no caller is left, and a Logger drops errors, too
	}), inner}
}

// Enabled implements slog.Handler.
func (h Handler) Enabled(ctx context.Context, l slog.Level) bool { return h.inner.Enabled(ctx, l) }

// Handle implements slog.Handler. It does not block. It keeps the values as they
// are now: the caller may change them after Handle has returned.
func (h Handler) Handle(ctx context.Context, r slog.Record) error {
	kept := slog.NewRecord(r.Time, r.Level, r.Message, r.PC)
	r.Attrs(func(a slog.Attr) bool {
		kept.AddAttrs(settled(a))
		return true
	})
	ctx = context.WithoutCancel(ctx)
	h.Put(sizeOf(kept), func() { _ = h.inner.Handle(ctx, kept) })
	return nil
}

// WithAttrs implements slog.Handler. Like Handle it keeps the values as they are now. The new Handler uses
// the same queue, so records stay in order.
func (h Handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	kept := make([]slog.Attr, len(attrs))
	for i, a := range attrs {
		kept[i] = settled(a)
	}
	return Handler{h.Queue, h.inner.WithAttrs(kept)}
}

// WithGroup implements slog.Handler.
func (h Handler) WithGroup(name string) slog.Handler {
	return Handler{h.Queue, h.inner.WithGroup(name)}
}

// attrSize is the approximate size of an attribute without its texts.
const attrSize = 64

// sizeOf returns the approximate memory of a record.
func sizeOf(r slog.Record) int {
	size := len(r.Message)
	r.Attrs(func(a slog.Attr) bool {
		size += sizeOfAttr(a)
		return true
	})
	return size
}

func sizeOfAttr(a slog.Attr) int {
	size := attrSize + len(a.Key)
	switch a.Value.Kind() { //nolint:exhaustive // the others are small
	case slog.KindString:
		size += len(a.Value.String())
	case slog.KindGroup:
		for _, in := range a.Value.Group() {
			size += sizeOfAttr(in)
		}
	case slog.KindAny:
		if text, ok := a.Value.Any().(json.RawMessage); ok {
			size += len(text)
		}
	}
	return size
}

// Writer returns a writer that queues each Write as an entry, in order with all others.
func (q *Queue) Writer(to io.Writer) io.Writer { return writer{q, to} }

type writer struct {
	q  *Queue
	to io.Writer
}

func (w writer) Write(p []byte) (int, error) {
	own := append([]byte(nil), p...)
	w.q.Put(len(own), func() { _, _ = w.to.Write(own) }) // no caller is left for the error
	return len(p), nil
}
