package sandbox

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

const (
	defaultLogLine = 4 << 10
	defaultLogRate = 50 // lines per second
	stderrTail     = 4 << 10
)

// printable makes text safe for a terminal and for one line of a log: control
// and formatting characters become visible escapes, broken UTF-8 is replaced.
func printable(s string) string { return escape(s, false) }

func escape(s string, lines bool) string {
	clean := func(r rune) bool {
		return lines && (r == '\n' || r == '\t') || r == ' ' || unicode.IsGraphic(r) && r != '\u2028' && r != '\u2029'
	}
	if utf8.ValidString(s) && strings.IndexFunc(s, func(r rune) bool { return !clean(r) }) < 0 {
		return s
	}
	var b strings.Builder
	for _, r := range strings.ToValidUTF8(s, "\ufffd") {
		switch {
		case clean(r):
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\r':
			b.WriteString(`\r`)
		case r == '\t':
			b.WriteString(`\t`)
		case r < 0x80:
			fmt.Fprintf(&b, `\x%02x`, r)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

// clip cuts s to at most n bytes without splitting a character.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "..."
}

// journal is where a guest's words go: cut, cleaned, and at a bounded rate.
// One run uses it from one goroutine.
type journal struct {
	log     *slog.Logger // nil discards
	line    int          // bytes of a line
	rate    int          // lines per second, and the most at once
	tokens  float64
	filled  time.Time
	dropped int64
}

func (j *journal) write(ctx context.Context, level slog.Level, text string) {
	if j.log == nil || !j.log.Enabled(ctx, level) {
		return
	}
	now := time.Now()
	j.tokens = min(float64(j.rate), j.tokens+now.Sub(j.filled).Seconds()*float64(j.rate))
	j.filled = now
	if j.tokens < 1 {
		j.dropped++
		return
	}
	j.tokens--
	j.tellDropped(ctx)
	j.log.Log(ctx, level, printable(clip(text, j.line))) //nolint:sloglint // the guest's words, not ours
}

// tellDropped says how many lines are missing before the next one appears.
func (j *journal) tellDropped(ctx context.Context) {
	if j.dropped > 0 {
		j.log.WarnContext(ctx, "guest logs too fast, lines dropped", slog.Int64("lines", j.dropped))
		j.dropped = 0
	}
}

// lineWriter cuts a stream of the guest into lines for the journal.
type lineWriter struct {
	ctx   context.Context //nolint:containedctx // an io.Writer lives as long as one run
	j     *journal
	level slog.Level
	buf   []byte
	tail  *tail // nil unless the last bytes are wanted
}

// Write implements io.Writer. It fails when the run is over: the guest may have
// asked for terabytes of the same bytes in one call, which only this ends.
func (w *lineWriter) Write(p []byte) (int, error) {
	if w.tail != nil {
		w.tail.add(p)
	}
	for rest := p; len(rest) > 0; {
		if err := w.ctx.Err(); err != nil {
			return 0, err
		}
		line, after, whole := bytes.Cut(rest, []byte{'\n'})
		w.keep(line)
		if whole {
			w.flush()
		}
		rest = after
	}
	return len(p), nil
}

func (w *lineWriter) keep(p []byte) {
	room := w.j.line + 1 - len(w.buf) // one more, so that clip marks the cut
	w.buf = append(w.buf, p[:min(len(p), max(room, 0))]...)
}

// flush logs what was gathered, also without a line end.
func (w *lineWriter) flush() {
	if line := strings.TrimSuffix(string(w.buf), "\r"); line != "" {
		w.j.write(w.ctx, w.level, line)
	}
	w.buf = w.buf[:0]
}

// tail keeps the last bytes of a stream.
type tail struct{ b []byte }

func (t *tail) add(p []byte) {
	if len(p) > stderrTail {
		p = p[len(p)-stderrTail:]
	}
	t.b = append(t.b, p...)
	if over := len(t.b) - stderrTail; over > 0 {
		t.b = append(t.b[:0], t.b[over:]...)
	}
}

func (t *tail) String() string { return strings.TrimRight(escape(string(t.b), true), "\n") }
