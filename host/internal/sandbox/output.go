package sandbox

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"math"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/wasmjob/wasmjob/host/internal/lograte"
	"github.com/wasmjob/wasmjob/host/job"
)

// maxStderrKept is how many bytes of stderr are included in a failure.
const maxStderrKept = 4 << 10

// maxShownResult is how many bytes of a result a log shows.
const maxShownResult = 400

// printable makes text safe for a terminal and for a single log line. It escapes
// control and formatting characters and replaces invalid UTF-8.
func printable(s string) string { return escape(s, false, math.MaxInt) }

// readable returns the beginning of s, printable and at most n bytes long. It cuts
// last, because escapes are longer than the original.
func readable(s string, n int) string { return clip(escape(s, false, n), n) }

// readableLines is readable but keeps line ends and tabs.
func readableLines(s string, n int) string { return clip(escape(s, true, n), n) }

// escape escapes s and stops soon after limit bytes. With lines set, it keeps line ends
// and tabs.
func escape(s string, lines bool, limit int) string {
	clean := func(r rune) bool {
		return lines && (r == '\n' || r == '\t') || r == ' ' || unicode.IsGraphic(r) && r != '\u2028' && r != '\u2029'
	}
	if utf8.ValidString(s) && strings.IndexFunc(s, func(r rune) bool { return !clean(r) }) < 0 {
		return s
	}
	var b strings.Builder
	broken := false
	for i := 0; i < len(s) && b.Len() <= limit; {
		r, n := utf8.DecodeRuneInString(s[i:])
		i += n
		if r == utf8.RuneError && n == 1 {
			if !broken { // one mark for consecutive invalid bytes
				b.WriteRune(r)
			}
			broken = true
			continue
		}
		broken = false
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

// clip cuts s to at most n bytes at a character boundary.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "..."
}

// guestLog logs the lines of a guest: cut, escaped, masked and limited in rate.
type guestLog struct {
	log     *slog.Logger // nil discards
	line    int          // maximum bytes of a line
	rate    int          // lines per second, and at once
	limiter *lograte.Limiter
	// secrets masks all text of the guest, also outside the log; nil if there are
	// none.
	secrets *mask

	mu      sync.Mutex // guards the fields below; subtasks share the log
	call    *job.Call
	digest  string
	named   *slog.Logger // log with the attributes of the run; created on first use
	dropped int64
}

// newGuestLog returns the log for a call, with the limits and the secrets of its job.
func newGuestLog(c *job.Call, compiled *compilation) *guestLog {
	limits := &c.Config.Limits
	l := &guestLog{log: c.Log, call: c, digest: compiled.digest, line: int(min(orDefault(limits.LogLine, DefaultLogLine), 1<<20)), rate: orDefault(limits.LogRate, DefaultLogRate)}
	if e := compiled.engine; e != nil {
		l.limiter, l.secrets = &e.logLimit, e.masks.maskFor(c.Secrets)
	} else { // tests without an engine
		l.limiter, l.secrets = &lograte.Limiter{}, newMask(c.Secrets)
	}
	return l
}

// ResetLogLimits resets the log rate of all items, for callers whose runs are
// unrelated.
func (e *Engine) ResetLogLimits() { e.logLimit.Reset() }

// room returns how many bytes of a line write needs: one more than the limit, which
// shows that the line was cut, and the slack of the mask.
func (l *guestLog) room() int { return l.line + 1 + l.secrets.slack() }

// write logs a line of the guest.
func (l *guestLog) write(ctx context.Context, level slog.Level, text string) {
	if l.log == nil || !l.log.Enabled(ctx, level) {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.takeLine(ctx) {
		l.logger().Log(ctx, level, readable(l.secrets.hide(text, 0, l.line+1), l.line)) //nolint:sloglint // text of the guest
	}
}

// takeLine takes a line from the item's rate, and logs how many lines were dropped
// before it. The caller holds l.mu.
func (l *guestLog) takeLine(ctx context.Context) bool {
	if !l.limiter.TakeLine(time.Now(), l.call.Config.Name, l.call.Item, l.rate) {
		l.dropped++
		return false
	}
	l.logDropped(ctx)
	return true
}

// shownResult returns the begin of a result as a log shows it, with secrets hidden.
func (l *guestLog) shownResult(result []byte) string {
	text := l.secrets.hide(string(result[:min(len(result), maxShownResult+1+l.secrets.slack())]), 0, maxShownResult+1)
	return readableLines(strings.TrimSpace(text), maxShownResult)
}

// logger returns the log with the attributes of this run. The caller holds l.mu.
func (l *guestLog) logger() *slog.Logger {
	if l.named == nil {
		l.named = l.log.With(slog.String("job", l.call.Config.Name), slog.Int("item", l.call.Item),
			slog.String("task", l.call.TaskID), slog.String("module", l.digest))
	}
	return l.named
}

// logLimited logs a message of the host about the guest, within the guest's rate.
func (l *guestLog) logLimited(ctx context.Context, level slog.Level, msg string, attrs ...slog.Attr) {
	if l.log == nil || !l.log.Enabled(ctx, level) {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.takeLine(ctx) {
		l.logger().LogAttrs(ctx, level, msg, attrs...) //nolint:sloglint // constants of the callers
	}
}

// logOnce logs a message of the host that occurs once per run.
func (l *guestLog) logOnce(ctx context.Context, level slog.Level, msg string, attrs ...slog.Attr) {
	if l.log == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.logger().LogAttrs(ctx, level, msg, attrs...) //nolint:sloglint // constants of the callers
}

// logDroppedAtEnd logs how many lines were dropped since the last line of a run.
func (l *guestLog) logDroppedAtEnd(ctx context.Context) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.logDropped(ctx)
}

// logDropped logs how many lines were dropped before the next one. The caller holds l.mu.
func (l *guestLog) logDropped(ctx context.Context) {
	if l.dropped > 0 {
		l.logger().WarnContext(ctx, "guest logs too fast, lines dropped", slog.Int64("lines", l.dropped))
		l.dropped = 0
	}
}

// lineWriter splits an output stream of the guest into lines for the log.
type lineWriter struct {
	ctx   context.Context //nolint:containedctx // an io.Writer lives as long as one run
	log   *guestLog
	level slog.Level
	buf   []byte
	last  *lastBytes // keeps the last bytes; may be nil
}

// Write implements io.Writer. It fails when the run has ended: the guest may write
// terabytes with one call, and only an error ends that.
func (w *lineWriter) Write(p []byte) (int, error) {
	if w.last != nil {
		w.last.add(p, w.log.secrets)
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

// keep adds bytes to the current line, as far as it is shown.
func (w *lineWriter) keep(p []byte) {
	room := w.log.room() - len(w.buf)
	w.buf = append(w.buf, p[:min(len(p), max(room, 0))]...)
}

// flush logs the current line, even without a line end.
func (w *lineWriter) flush() {
	if line := strings.TrimSuffix(string(w.buf), "\r"); line != "" {
		w.log.write(w.ctx, w.level, line)
		if w.last != nil && endsRun(line) {
			w.last.cause = readable(w.log.secrets.hide(line, 0, maxCause+1), maxCause)
		}
	}
	w.buf = w.buf[:0]
}

// maxCause is the maximum length of a line that gives the reason for the guest's
// end.
const maxCause = 1 << 10

// endsRun reports whether a line is the reason that a language runtime prints before
// it traps: those of Go, TinyGo and C's assert. Its other output is a stack trace.
func endsRun(line string) bool {
	return strings.HasPrefix(line, "panic: ") || strings.HasPrefix(line, "fatal error: ") || strings.HasPrefix(line, "Assertion failed: ")
}

// lastBytes keeps the last bytes of a stream.
type lastBytes struct {
	b     []byte
	cut   bool   // earlier bytes were dropped
	cause string // the last line for which endsRun is true; empty: none
}

// add adds bytes, and drops the first ones that exceed maxStderrKept and the slack of the
// mask.
func (t *lastBytes) add(p []byte, secrets *mask) {
	limit := maxStderrKept + secrets.slack()
	if len(p) > limit {
		p, t.cut = p[len(p)-limit:], true
	}
	t.b = append(t.b, p...)
	if over := len(t.b) - limit; over > 0 {
		t.b, t.cut = append(t.b[:0], t.b[over:]...), true
	}
}

// append appends the last bytes of another stream, o, as if one stream had both.
func (t *lastBytes) append(o *lastBytes, secrets *mask) {
	if o.cause != "" {
		t.cause = o.cause
	}
	if o.cut { // o fills the buffer
		o.cause = t.cause
		*t = *o
		return
	}
	t.add(o.b, secrets)
}

// text returns the bytes with secrets masked. If the beginning was cut, it drops as
// many bytes as a secret can have, since a partial secret is not recognized.
func (t *lastBytes) text(secrets *mask) string {
	lo := 0
	if t.cut {
		lo = secrets.slack()
	}
	text := escape(secrets.hide(string(t.b), lo, len(t.b)), true, math.MaxInt)
	if over := len(text) - maxStderrKept; over > 0 { // escapes made it longer
		for over < len(text) && !utf8.RuneStart(text[over]) {
			over++
		}
		text = text[over:]
	}
	return strings.TrimRight(text, "\n")
}
