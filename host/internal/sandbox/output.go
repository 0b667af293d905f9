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

// maxStderrKept is how much of what a guest wrote to stderr goes with a failure.
const maxStderrKept = 4 << 10

// maxShownResult is how much of a result a log shows.
const maxShownResult = 400

// printable makes text safe for a terminal and for one line of a log: control
// and formatting characters become visible escapes, broken UTF-8 is replaced.
func printable(s string) string { return escape(s, false, math.MaxInt) }

// readable is the beginning of s, printable and of at most n bytes: an escape is
// longer than what it stands for, so the cut comes last.
func readable(s string, n int) string { return clip(escape(s, false, n), n) }

// readableLines is readable with ends of lines, and tabs, as they are.
func readableLines(s string, n int) string { return clip(escape(s, true, n), n) }

// escape ends soon after most bytes: nobody wants more.
func escape(s string, lines bool, most int) string {
	clean := func(r rune) bool {
		return lines && (r == '\n' || r == '\t') || r == ' ' || unicode.IsGraphic(r) && r != '\u2028' && r != '\u2029'
	}
	if utf8.ValidString(s) && strings.IndexFunc(s, func(r rune) bool { return !clean(r) }) < 0 {
		return s
	}
	var b strings.Builder
	broken := false
	for i := 0; i < len(s) && b.Len() <= most; {
		r, n := utf8.DecodeRuneInString(s[i:])
		i += n
		if r == utf8.RuneError && n == 1 {
			if !broken { // one mark for as many bytes as follow each other
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

// guestLog is where a guest's words go: cut, cleaned, and at a bounded rate.
type guestLog struct {
	log     *slog.Logger // nil discards
	line    int          // bytes of a line
	rate    int          // lines per second, and the most at once
	limiter *lograte.Limiter
	// secrets are hidden from whatever is kept of the guest's words, also
	// beside the log; nil if there are none.
	secrets *mask

	mu      sync.Mutex // guards what follows, for the parts of one run
	call    *job.Call
	digest  string
	named   *slog.Logger // log, with what tells the run; made when first used
	dropped int64
}

func newGuestLog(c *job.Call, of *compilation) *guestLog {
	j := &guestLog{log: c.Log, call: c, digest: of.digest, line: DefaultLogLine, rate: DefaultLogRate}
	if n := c.Config.Limits.LogLine; n > 0 {
		j.line = int(min(n, 1<<20))
	}
	if n := c.Config.Limits.LogRate; n > 0 {
		j.rate = n
	}
	if e := of.engine; e != nil {
		j.limiter, j.secrets = &e.logLimit, e.masks.maskFor(c.Secrets)
	} else { // no engine, nobody to share with
		j.limiter, j.secrets = &lograte.Limiter{}, newMask(c.Secrets)
	}
	return j
}

// ResetLogLimits lets every item log as if it had not logged before, for those whose
// runs have nothing to do with each other.
func (e *Engine) ResetLogLimits() { e.logLimit.Reset() }

// room is how many bytes of a line write wants to see: one more than it keeps,
// which shows that the line was cut, and what a secret across the cut needs.
func (j *guestLog) room() int { return j.line + 1 + j.secrets.slack() }

func (j *guestLog) write(ctx context.Context, level slog.Level, text string) {
	if j.log == nil || !j.log.Enabled(ctx, level) {
		return
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.takeLine(ctx) {
		j.logger().Log(ctx, level, readable(j.secrets.hide(text, 0, j.line+1), j.line)) //nolint:sloglint // the guest's words, not ours
	}
}

// takeLine takes one line of those that the item has, and says how many are missing
// before it. j.mu is held.
func (j *guestLog) takeLine(ctx context.Context) bool {
	if !j.limiter.TakeLine(time.Now(), j.call.Config.Name, j.call.Item, j.rate) {
		j.dropped++
		return false
	}
	j.logDropped(ctx)
	return true
}

// shownResult is what a log shows of a result: its beginning, as a line of the guest.
func (j *guestLog) shownResult(result []byte) string {
	text := j.secrets.hide(string(result[:min(len(result), maxShownResult+1+j.secrets.slack())]), 0, maxShownResult+1)
	return readableLines(strings.TrimSpace(text), maxShownResult)
}

// logger is for j.log with what tells this run from others. j.mu is held.
func (j *guestLog) logger() *slog.Logger {
	if j.named == nil {
		j.named = j.log.With(slog.String("job", j.call.Config.Name), slog.Int("item", j.call.Item),
			slog.String("task", j.call.TaskID), slog.String("module", j.digest))
	}
	return j.named
}

// logLimited writes a line of the host about what the guest does, as often as that may
// log itself.
func (j *guestLog) logLimited(ctx context.Context, level slog.Level, msg string, attrs ...slog.Attr) {
	if j.log == nil || !j.log.Enabled(ctx, level) {
		return
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.takeLine(ctx) {
		j.logger().LogAttrs(ctx, level, msg, attrs...) //nolint:sloglint // constants of the callers
	}
}

// logOnce writes a line of the host that a run has once.
func (j *guestLog) logOnce(ctx context.Context, level slog.Level, msg string, attrs ...slog.Attr) {
	if j.log == nil {
		return
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.logger().LogAttrs(ctx, level, msg, attrs...) //nolint:sloglint // constants of the callers
}

// logDroppedAtEnd says how many lines are missing at the end of a run.
func (j *guestLog) logDroppedAtEnd(ctx context.Context) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.logDropped(ctx)
}

// logDropped says how many lines are missing before the next one appears.
func (j *guestLog) logDropped(ctx context.Context) {
	if j.dropped > 0 {
		j.logger().WarnContext(ctx, "guest logs too fast, lines dropped", slog.Int64("lines", j.dropped))
		j.dropped = 0
	}
}

// lineWriter cuts a stream of the guest into lines for the journal.
type lineWriter struct {
	ctx   context.Context //nolint:containedctx // an io.Writer lives as long as one run
	j     *guestLog
	level slog.Level
	buf   []byte
	last  *lastBytes // nil unless the last bytes are wanted
}

// Write implements io.Writer. It fails when the run is over: the guest may have
// asked for terabytes of the same bytes in one call, which only this ends.
func (w *lineWriter) Write(p []byte) (int, error) {
	if w.last != nil {
		w.last.add(p, w.j.secrets)
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
	room := w.j.room() - len(w.buf)
	w.buf = append(w.buf, p[:min(len(p), max(room, 0))]...)
}

// flush logs what was gathered, also without a line end.
func (w *lineWriter) flush() {
	if line := strings.TrimSuffix(string(w.buf), "\r"); line != "" {
		w.j.write(w.ctx, w.level, line)
		if w.last != nil && endsRun(line) {
			w.last.cause = readable(w.j.secrets.hide(line, 0, maxCause+1), maxCause)
		}
	}
	w.buf = w.buf[:0]
}

// maxCause is how many bytes are kept of a line that tells why a guest ends.
const maxCause = 1 << 10

// endsRun tells whether a line is the one with which a runtime says why it ends
// the guest: those of Go and TinyGo, and assert of the C library. They trap
// after it, and what they print besides is a stack.
func endsRun(line string) bool {
	for _, begin := range [...]string{"panic: ", "fatal error: ", "Assertion failed: "} {
		if strings.HasPrefix(line, begin) {
			return true
		}
	}
	return false
}

// lastBytes keeps the last bytes of a stream.
type lastBytes struct {
	b     []byte
	cut   bool   // there were more
	cause string // the last line that endsRun, however far back; empty: none
}

func (t *lastBytes) add(p []byte, secrets *mask) {
	most := maxStderrKept + secrets.slack()
	if len(p) > most {
		p, t.cut = p[len(p)-most:], true
	}
	t.b = append(t.b, p...)
	if over := len(t.b) - most; over > 0 {
		t.b, t.cut = append(t.b[:0], t.b[over:]...), true
	}
}

// append takes over what another stream ended with.
func (t *lastBytes) append(o *lastBytes, secrets *mask) {
	if o.cause != "" {
		t.cause = o.cause
	}
	if o.cut { // it alone fills the room
		o.cause = t.cause
		*t = *o
		return
	}
	t.add(o.b, secrets)
}

// text is what is left without the secrets. The part of one that was cut off
// at the beginning is not seen any more, so as much as it may be goes, too.
func (t *lastBytes) text(secrets *mask) string {
	lo := 0
	if t.cut {
		lo = secrets.slack()
	}
	text := escape(secrets.hide(string(t.b), lo, len(t.b)), true, math.MaxInt)
	if over := len(text) - maxStderrKept; over > 0 { // what is escaped is longer
		for over < len(text) && !utf8.RuneStart(text[over]) {
			over++
		}
		text = text[over:]
	}
	return strings.TrimRight(text, "\n")
}
