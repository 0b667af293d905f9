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

// Where a job sets no limit, the same holds as in the sandbox.
const (
	defaultResult  = 1 << 20
	defaultLogLine = 4 << 10
	defaultLogRate = 50 // lines per second
	tailBytes      = 4 << 10
	shownResult    = 400 // bytes of a result that a log shows
)

func atLeast[N cmp.Ordered](n, instead N) N {
	var zero N
	if n <= zero {
		return instead
	}
	return n
}

// head keeps the first bytes of a stream, and lets the rest pass: a command
// that waits for a reader would never end.
type head struct {
	most int64
	b    []byte
	cut  bool
}

func (h *head) Write(p []byte) (int, error) {
	room := int(h.most) - len(h.b)
	h.cut = h.cut || len(p) > room
	h.b = append(h.b, p[:min(len(p), room)]...)
	return len(p), nil
}

// bytes are nil if there are none.
func (h *head) bytes() []byte { return h.b }

// journal takes the command's standard error, line by line and at a bounded
// rate, to the log, and keeps its end for the report of a failure. One goroutine
// writes; the others come after it.
type journal struct {
	log     *slog.Logger
	line    int
	rate    int
	left    *lograte.Limiter
	job     string
	item    int
	dropped int64
	buf     []byte
	last    []byte
}

func newJournal(c job.Call, left *lograte.Limiter) *journal {
	j := &journal{
		line: int(atLeast(c.Config.Limits.LogLine, defaultLogLine)), rate: atLeast(c.Config.Limits.LogRate, defaultLogRate),
		left: left, job: c.Config.Name, item: c.Item, log: slog.New(slog.DiscardHandler),
	}
	if c.Log != nil {
		j.log = c.Log.With(slog.String("job", c.Config.Name), slog.Int("item", c.Item), slog.String("task", c.TaskID))
	}
	return j
}

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

// keep holds on to the last bytes.
func (j *journal) keep(p []byte) {
	if len(p) > tailBytes {
		p = p[len(p)-tailBytes:]
	}
	j.last = append(j.last, p...)
	if over := len(j.last) - tailBytes; over > 0 {
		j.last = append(j.last[:0], j.last[over:]...)
	}
}

func (j *journal) flush() {
	line := strings.TrimSuffix(string(j.buf), "\r")
	j.buf = j.buf[:0]
	if line == "" {
		return
	}
	if !j.left.TakeLine(time.Now(), j.job, j.item, j.rate) {
		j.dropped++
		return
	}
	j.tellDropped()
	j.log.Log(context.Background(), slog.LevelWarn, visible(line, j.line)) //nolint:sloglint,forbidigo // the command's words, not ours
}

func (j *journal) tellDropped() {
	if j.dropped > 0 {
		j.say("the command logs too fast, lines dropped", "lines", j.dropped)
		j.dropped = 0
	}
}

func (j *journal) say(text string, about ...any) {
	j.log.Warn(text, about...) //nolint:sloglint // a few, of this file's making
}

// finish logs what has no line end.
func (j *journal) finish() {
	j.flush()
	j.tellDropped()
}

// tail is the end of what the command said.
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

// visible replaces what would disturb a terminal or a log of lines, and then cuts:
// what stands for a broken byte is longer than that.
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
