package runner

import (
	"log/slog"
	"testing"
)

// The lines of a job equal those of Logger.With.
func TestLogNamesTheJob(t *testing.T) {
	t.Parallel()
	write := func(of func(*slog.Logger) *slog.Logger) string {
		var out lockedBuffer
		plain := slog.NewTextHandler(&out, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return a
		}})
		log := of(slog.New(plain))
		log.Info("text", "a", 1)
		log.With("b", 2).Warn("more", "a", 1)
		log.WithGroup("g").Error("below", "a", 1)
		return out.String()
	}
	want := write(func(l *slog.Logger) *slog.Logger { return l.With("job", testJob) })
	got := write(func(l *slog.Logger) *slog.Logger { return slog.New(ofJob{l.Handler(), testJob}) })
	if got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}
