package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/shadow"
)

// eventLine is a line that --events prints. Its keys never change.
type eventLine struct {
	Event     string `json:"event"`
	UnixMS    int64  `json:"unix_ms"`
	Job       string `json:"job"`
	Item      int    `json:"item"`
	TaskID    string `json:"task_id"`
	Parameter string `json:"parameter"`
	Scheduled int64  `json:"scheduled_unix_ms"`
	Instance  string `json:"instance"`
	Cause     string `json:"cause"`
	State     string `json:"state"`
	Run       string `json:"run,omitempty"`
	Attempt   int    `json:"attempt,omitempty"`
	Error     string `json:"error,omitempty"`       // of an end
	TookMS    *int64 `json:"duration_ms,omitempty"` // of an end
	Code      *int32 `json:"code,omitempty"`        // what the entry returned; absent if it did not return
	Owner     string `json:"owner,omitempty"`       // for a shadow: owner of the item
	Reason    string `json:"reason,omitempty"`      // of an end: why it was stopped
	reasonCode
}

// faultLine is a line that --events prints for a strategy that failed, or a module that this
// server refuses to compile.
type faultLine struct {
	Event    string `json:"event"`
	UnixMS   int64  `json:"unix_ms"`
	Job      string `json:"job,omitempty"`
	Digest   string `json:"digest,omitempty"`
	Instance string `json:"instance"`
	Reason   string `json:"reason"`
	reasonCode
}

// logEvents logs the end of each item, for programs that read logs, its start at the level debug, and
// the events of a shadow, whose reason is the owner of the item.
func logEvents(log *slog.Logger) func(host.Event) {
	return func(e host.Event) {
		switch e.Kind {
		case host.EventStart:
			log.Debug("item started", "job", e.Config.Name, "item", e.Item, "run", e.Run, "attempt", e.Attempt,
				"scheduled", e.Scheduled, "cause", string(e.Cause), "instance", string(e.Instance), "task", e.TaskID)
			return
		case host.EventStrategy, host.EventModule:
			return // the log has it already
		case shadow.Would:
			log.Info("would run", "job", e.Config.Name, "item", e.Item, "instant", e.Scheduled, "owner", e.Reason.String())
			return
		case shadow.Began:
			log.Info("began", "job", e.Config.Name, "item", e.Item, "instant", e.Scheduled, "owner", e.Instance, "after_ms", e.At.Sub(e.Scheduled).Milliseconds())
			return
		}
		attrs := []slog.Attr{
			slog.String("job", e.Config.Name), slog.Int("item", e.Item), slog.String("state", string(e.State)), slog.String("run", e.Run),
			slog.String("result", shorten(e.Outcome.Shown)), slog.Float64("duration_ms", float64(e.Outcome.Took.Microseconds())/1000),
			slog.Time("scheduled", e.Scheduled), slog.String("cause", string(e.Cause)), slog.Int("attempt", e.Attempt),
			slog.String("instance", string(e.Instance)), slog.String("task", e.TaskID),
		}
		if e.Outcome.HasCode {
			attrs = append(attrs, slog.Int("code", int(e.Outcome.Code)))
		}
		if e.Outcome.Error != "" {
			attrs = append(attrs, slog.String("error", shorten(e.Outcome.Error)))
		}
		if !e.Reason.None() {
			attrs = append(attrs, slog.String("reason", e.Reason.String()), slog.String("reason_code", string(e.Reason.Code)))
		}
		// It is decided later whether another attempt follows, and the level depends on that:
		// the log line of the row has the level error or warning.
		log.LogAttrs(context.Background(), slog.LevelInfo, "item ended", attrs...)
	}
}

// printEvents prints a line for a person as each item starts and ends, and the events of a shadow.
// Each line has the level info of the log, which the same person reads.
func printEvents(to io.Writer, log *slog.Logger) func(host.Event) {
	return func(e host.Event) {
		switch {
		case e.Kind == host.EventStrategy, e.Kind == host.EventModule:
			return // the log has it already
		case !log.Enabled(context.Background(), slog.LevelInfo):
			return
		}
		var b strings.Builder
		fmt.Fprintf(&b, "%s %s[%d]", e.At.Format(time.TimeOnly), shorten(e.Config.Name), e.Item)
		if e.Parameter != "" {
			fmt.Fprintf(&b, " (%s)", shorten(e.Parameter))
		}
		switch e.Kind {
		case shadow.Would:
			// The reason is the owner of the item.
			fmt.Fprintf(&b, " would run for %s, is with %s", e.Scheduled.Format(time.TimeOnly), shorten(cmp.Or(e.Reason.String(), "no owner")))
		case shadow.Began:
			fmt.Fprintf(&b, " began for %s on %s, %s after", e.Scheduled.Format(time.TimeOnly), shorten(string(e.Instance)), round(e.At.Sub(e.Scheduled)))
		case host.EventStart:
			fmt.Fprintf(&b, " started for %s", e.Scheduled.Format(time.TimeOnly))
			if e.Attempt > 1 {
				fmt.Fprintf(&b, ", attempt %d", e.Attempt)
			}
		default:
			fmt.Fprintf(&b, " %s in %s on %s", e.State, round(e.Outcome.Took), shorten(string(e.Instance)))
			for _, text := range []string{e.Outcome.Shown, e.Outcome.Error, e.Reason.String()} {
				if text != "" {
					fmt.Fprintf(&b, ": %s", shorten(text))
				}
			}
		}
		b.WriteByte('\n')
		_, _ = io.WriteString(to, b.String()) // one write, so that lines do not mix
	}
}

// round rounds a duration to as much as a person wants to see of it.
func round(d time.Duration) time.Duration {
	switch {
	case d >= time.Minute:
		return d.Round(time.Second)
	case d >= time.Second:
		return d.Round(10 * time.Millisecond)
	}
	return d.Round(10 * time.Microsecond)
}

// maxShown is how much of a text a line shows, in bytes.
const maxShown = 400

// shorten makes a guest's text fit for one line of a terminal: short, and without characters
// that would control it.
func shorten(s string) string {
	cut := len(s) > maxShown
	if cut {
		s = s[:maxShown]
		// The last character may be incomplete; if it is not ASCII, it is dropped.
		for len(s) > 0 && !utf8.RuneStart(s[len(s)-1]) {
			s = s[:len(s)-1]
		}
		if r, size := utf8.DecodeLastRuneInString(s); r == utf8.RuneError && size <= 1 && len(s) > 0 {
			s = s[:len(s)-1]
		}
	}
	s = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, strings.TrimSpace(s))
	if cut {
		s += " …"
	}
	return s
}

// lineHandler writes log records as lines for a person: time, level unless it is info, message,
// attributes.
type lineHandler struct {
	to    io.Writer
	level slog.Level
	attrs string // of With, already formatted
	group string
	guest bool // the record is a guest's
}

func newLineHandler(to io.Writer, level slog.Level) *lineHandler {
	return &lineHandler{to: to, level: level}
}

func (h *lineHandler) Enabled(_ context.Context, l slog.Level) bool { return l >= h.level }

func (h *lineHandler) Handle(_ context.Context, r slog.Record) error {
	var b strings.Builder
	b.WriteString(r.Time.Format(time.TimeOnly))
	b.WriteByte(' ')
	if r.Level != slog.LevelInfo {
		b.WriteString(r.Level.String() + " ")
	}
	b.WriteString(shorten(r.Message))
	b.WriteString(h.attrs)
	r.Attrs(func(a slog.Attr) bool {
		h.attr(&b, h.group, a)
		return true
	})
	b.WriteByte('\n')
	_, err := io.WriteString(h.to, b.String())
	return err
}

// attr writes an attribute as group.key=value, and a group as its attributes. It leaves out those that
// only programs need.
func (h *lineHandler) attr(b *strings.Builder, group string, a slog.Attr) {
	if a.Key == "task" || a.Key == "module" {
		return // long, and for programs: the JSON log has them
	}
	if h.guest && (a.Key == "run" || a.Key == "attempt") {
		return // the line about the item's end has them
	}
	v := a.Value.Resolve()
	if v.Kind() == slog.KindGroup {
		if a.Key != "" {
			group += a.Key + "."
		}
		for _, inner := range v.Group() {
			h.attr(b, group, inner)
		}
		return
	}
	text := shorten(v.String())
	if text == "" || strings.ContainsAny(text, " \"=") {
		text = fmt.Sprintf("%q", text)
	}
	fmt.Fprintf(b, "  %s%s=%s", group, a.Key, text)
}

// WithAttrs formats the attributes once, for all later records.
func (h *lineHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	n := *h
	var b strings.Builder
	for _, a := range attrs {
		n.guest = n.guest || a.Key == "source" && a.Value.String() == "guest"
		n.attr(&b, h.group, a)
	}
	n.attrs += b.String()
	return &n
}

func (h *lineHandler) WithGroup(name string) slog.Handler {
	n := *h
	n.group += name + "."
	return &n
}
