package native

import (
	"bytes"
	"cmp"
	"context"
	"log/slog"
	"math"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/wasmjob/wasmjob/host/internal/lograte"
	"github.com/wasmjob/wasmjob/host/job"
)

// Defaults for jobs without limits, the same as in the sandbox.
const (
	defaultResult  = 1 << 20
	defaultLogLine = 4 << 10
	defaultLogRate = 50 // lines per second
	tailBytes      = 4 << 10
	shownResult    = 400 // bytes of a result shown in a log
)

// positiveOr returns n if it is positive, and fallback if it is not.
func positiveOr[N cmp.Ordered](n, fallback N) N {
	var zero N
	if n <= zero {
		return fallback
	}
	return n
}

// head keeps the first bytes of a stream and discards the rest: a command whose
// output is not read would never end.
type head struct {
	most int64 // bytes to keep
	b    []byte
	cut  bool // bytes were discarded
}

// Write implements io.Writer.
func (h *head) Write(p []byte) (int, error) {
	room := int(h.most) - len(h.b)
	h.cut = h.cut || len(p) > room
	h.b = append(h.b, p[:min(len(p), room)]...)
	return len(p), nil
}

// bytes returns the bytes kept, or nil if there are none.
func (h *head) bytes() []byte { return h.b }

// journal writes the command's standard error to the log, line by line and at a
// bounded rate, and keeps its last bytes for the report of a failure. One goroutine
// writes to it; the other methods are called after the last write.
type journal struct {
	log     *slog.Logger
	line    int // most bytes of a line
	rate    int // lines per second
	limiter *lograte.Limiter
	job     string
	item    int
	dropped int64  // lines dropped and not reported yet
	buf     []byte // the current line
	last    []byte // at most tailBytes
}

// newJournal returns a journal for one run. limiter counts the lines of all runs of the
// command.
func newJournal(c job.Call, limiter *lograte.Limiter) *journal {
	j := &journal{
		line: int(positiveOr(c.Config.Limits.LogLine, defaultLogLine)), rate: positiveOr(c.Config.Limits.LogRate, defaultLogRate),
		limiter: limiter, job: c.Config.Name, item: c.Item, log: slog.New(slog.DiscardHandler),
	}
	if c.Log != nil {
		j.log = c.Log.With(slog.String("job", c.Config.Name), slog.Int("item", c.Item), slog.String("task", c.TaskID))
	}
	return j
}

// Write implements io.Writer. It cuts each line to its limit while reading it.
func (j *journal) Write(p []byte) (int, error) {
	j.keep(p)
	for rest := p; len(rest) > 0; {
		line, after, whole := bytes.Cut(rest, []byte{'\n'})
		room := max(j.line-len(j.buf), 0)
		j.buf = append(j.buf, line[:min(len(line), room)]...)
		if whole {
			j.flush()
		}
		rest = after
	}
	return len(p), nil
}

// keep stores the last bytes, for tail.
func (j *journal) keep(p []byte) {
	if len(p) > tailBytes {
		p = p[len(p)-tailBytes:]
	}
	j.last = append(j.last, p...)
	if over := len(j.last) - tailBytes; over > 0 {
		j.last = append(j.last[:0], j.last[over:]...)
	}
}

// flush logs the current line, unless it is empty or the command logs too fast.
func (j *journal) flush() {
	line := strings.TrimSuffix(string(j.buf), "\r")
	j.buf = j.buf[:0]
	if line == "" {
		return
	}
	if !j.limiter.TakeLine(time.Now(), j.job, j.item, j.rate) {
		j.dropped++
		return
	}
	j.logDropped()
	j.log.Log(context.Background(), slog.LevelWarn, visible(line, j.line)) //nolint:sloglint,forbidigo // the text of the command, not ours
}

// logDropped logs how many lines were dropped before the next one.
func (j *journal) logDropped() {
	if j.dropped > 0 {
		j.say("dropped log lines of the command: it logs faster than limits.log_rate", "lines", j.dropped)
		j.dropped = 0
	}
}

// say logs a message of this host about the command.
func (j *journal) say(text string, about ...any) {
	j.log.Warn(text, about...) //nolint:sloglint // only the constant messages of this file
}

// finish logs a last line without line end, and the number of dropped lines.
func (j *journal) finish() {
	j.flush()
	j.logDropped()
}

// tail returns the last bytes of the command's standard error.
func (j *journal) tail() string {
	lines := strings.Split(strings.TrimSpace(string(j.last)), "\n")
	for i, line := range lines {
		lines[i] = visible(strings.TrimSuffix(line, "\r"), math.MaxInt)
	}
	text := strings.Join(lines, "\n")
	over := max(len(text)-tailBytes, 0)
	for over < len(text) && !utf8.RuneStart(text[over]) {
		over++
	}
	return text[over:]
}

// visible replaces characters that would disturb a terminal or a log of lines, and
// cuts the result to most bytes. It cuts last, because a replacement is longer than
// the byte it stands for.
func visible(s string, most int) string {
	s = strings.Map(func(r rune) rune {
		if r == ' ' || r == '\t' || unicode.IsGraphic(r) && r != '\u2028' && r != '\u2029' {
			return r
		}
		return utf8.RuneError
	}, s)
	if len(s) > most {
		for most > 0 && !utf8.RuneStart(s[most]) {
			most--
		}
		s = s[:most]
	}
	return s
}
