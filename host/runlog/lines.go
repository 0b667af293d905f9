package runlog

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

// handler is the log of one attempt. It adds the run to every line in the log of the
// server, and keeps the last lines for the row.
type handler struct {
	slog.Handler
	of    *Lines
	named bool // the handler adds the run already
}

// Lines are the lines of an attempt that are kept.
type Lines struct {
	run     string
	attempt int
	began   time.Time

	mu      sync.Mutex    // guards the fields below: parts of a run log concurrently
	text    []byte        // the last lines, each with a line end
	written int64         // bytes of all lines, also of those that text has no more
	cut     bool          // text has not all of the lines
	ended   bool          // no line follows
	more    chan struct{} // closed at the next line, or at the end; nil: nobody waits
}

// Began says when the attempt has begun, before its first line.
func (l *Lines) Began(at time.Time) { l.began = at }

// Attempt is the number of the attempt.
func (l *Lines) Attempt() int { return l.attempt }

// end says that no line follows, and takes no more memory than the lines.
func (l *Lines) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.text) > keptLog {
		l.shorten()
	}
	l.text, l.ended = slices.Clip(slices.Clone(l.text)), true
	l.wake()
}

// size returns how many bytes ended lines occupy.
func (l *Lines) size() int { return len(l.text) }

// wake wakes those who wait for more. l.mu is held.
func (l *Lines) wake() {
	if l.more != nil {
		close(l.more)
		l.more = nil
	}
}

// Part is a piece of a log.
type Part struct {
	Text  string
	Next  int64           // where the following part begins
	Gap   bool            // lines before Text are not kept any more
	Ended bool            // no line follows Text
	More  <-chan struct{} // closed when there is more
}

// After returns what follows the first seen bytes of all lines, as far as it is kept.
func (l *Lines) After(seen int64) Part {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.more == nil && !l.ended {
		l.more = make(chan struct{})
	}
	oldest := l.written - int64(len(l.text))
	from := min(max(seen, oldest), l.written)
	return Part{Text: string(l.text[from-oldest:]), Next: l.written, Gap: from != seen, Ended: l.ended, More: l.more}
}

// Handle implements slog.Handler.
func (h handler) Handle(ctx context.Context, r slog.Record) error {
	h.of.add(&r)
	if !h.named {
		r = r.Clone()
		r.AddAttrs(h.of.attrs()...)
	}
	return h.Handler.Handle(ctx, r) //nolint:wrapcheck // it stands for that one
}

// WithAttrs implements slog.Handler. The run comes after the job, which is the first
// thing that is added.
func (h handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	if !h.named {
		attrs, h.named = slices.Concat(attrs, h.of.attrs()), true
	}
	h.Handler = h.Handler.WithAttrs(attrs)
	return h
}

// WithGroup implements slog.Handler.
func (h handler) WithGroup(name string) slog.Handler {
	if !h.named {
		h.Handler, h.named = h.Handler.WithAttrs(h.of.attrs()), true
	}
	h.Handler = h.Handler.WithGroup(name)
	return h
}

// attrs returns the attributes that name the run.
func (l *Lines) attrs() []slog.Attr {
	return []slog.Attr{slog.String("run", l.run), slog.Int("attempt", l.attempt)}
}

// add keeps a line: the time since the attempt began, the level, message and attributes.
func (l *Lines) add(r *slog.Record) {
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
	if l.ended { // a goroutine that the guest left behind
		return
	}
	l.text = append(append(l.text, line...), '\n')
	l.written += int64(len(line)) + 1
	l.wake()
	if len(l.text) > 2*keptLog { // seldom, since the text is copied
		l.shorten()
	}
}

// shorten drops the first lines until the rest, with cutLog before it, is within the bound. l.mu
// is held.
func (l *Lines) shorten() {
	over := len(l.text) - (keptLog - len(cutLog))
	if over <= 0 {
		return
	}
	end := over + slices.Index(l.text[over-1:], '\n')
	l.text, l.cut = append(l.text[:0], l.text[end:]...), true
}

// Kept returns the last lines.
func (l *Lines) Kept() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.text) > keptLog || l.cut { // once lines were cut, cutLog needs room, too
		l.shorten()
	}
	if l.cut {
		return cutLog + string(l.text)
	}
	return string(l.text)
}
