package runner

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"
)

const (
	// keptLog bounds the lines of an attempt that its row gets, in bytes.
	keptLog = 8 << 10
	// keptLine bounds one of them.
	keptLine = 2 << 10
	// cutLog stands before the first line if there were more.
	cutLog = "… earlier lines are in the log of the server\n"
)

// runLog is the log of one attempt. It adds the run to every line in the log of the
// server, and keeps the last lines for the row.
type runLog struct {
	slog.Handler
	of    *runLines
	named bool // the handler adds the run already
}

// runLines are the lines that are kept.
type runLines struct {
	run     string
	attempt int
	began   time.Time

	mu   sync.Mutex // guards the fields below: parts of a run log concurrently
	text []byte
	cut  bool
}

// logOf returns the log of an attempt. to is the log of all guests.
func logOf(to *slog.Logger, run string, attempt int) (*slog.Logger, *runLines) {
	of := &runLines{run: run, attempt: attempt, began: time.Now()}
	return slog.New(runLog{Handler: to.Handler(), of: of}), of
}

// Handle implements slog.Handler.
func (h runLog) Handle(ctx context.Context, r slog.Record) error {
	h.of.add(&r)
	if !h.named {
		r = r.Clone()
		r.AddAttrs(h.of.attrs()...)
	}
	return h.Handler.Handle(ctx, r) //nolint:wrapcheck // it stands for that one
}

// WithAttrs implements slog.Handler. The run comes after the job, which is the first
// thing that is added.
func (h runLog) WithAttrs(attrs []slog.Attr) slog.Handler {
	if !h.named {
		attrs, h.named = slices.Concat(attrs, h.of.attrs()), true
	}
	h.Handler = h.Handler.WithAttrs(attrs)
	return h
}

// WithGroup implements slog.Handler.
func (h runLog) WithGroup(name string) slog.Handler {
	if !h.named {
		h.Handler, h.named = h.Handler.WithAttrs(h.of.attrs()), true
	}
	h.Handler = h.Handler.WithGroup(name)
	return h
}

func (l *runLines) attrs() []slog.Attr {
	return []slog.Attr{slog.String("run", l.run), slog.Int("attempt", l.attempt)}
}

// add keeps a line: the time since the attempt began, the level, message and attributes.
func (l *runLines) add(r *slog.Record) {
	level := strings.ToLower(r.Level.String())
	if r.Level < slog.LevelDebug {
		level = "trace"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "+%.3fs %s %s", max(r.Time.Sub(l.began), 0).Seconds(), level, r.Message)
	r.Attrs(func(a slog.Attr) bool {
		b.WriteString(" " + a.String())
		return b.Len() < keptLine
	})
	line := strings.ReplaceAll(strings.ToValidUTF8(b.String(), "\uFFFD"), "\n", `\n`)
	if len(line) > keptLine {
		n := keptLine
		for !utf8.RuneStart(line[n]) {
			n--
		}
		line = line[:n] + "…"
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text = append(append(l.text, line...), '\n')
	if len(l.text) > 2*keptLog { // seldom, since the text is copied
		l.shorten()
	}
}

// shorten drops the first lines until the rest is within the bound. l.mu is held.
func (l *runLines) shorten() {
	over := len(l.text) - (keptLog - len(cutLog))
	if over <= 0 {
		return
	}
	end := over + slices.Index(l.text[over-1:], '\n')
	l.text, l.cut = append(l.text[:0], l.text[end:]...), true
}

// kept returns the last lines.
func (l *runLines) kept() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.text) > keptLog || l.cut {
		l.shorten()
	}
	if l.cut {
		return cutLog + string(l.text)
	}
	return string(l.text)
}
