package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// byteSize is a flag for an amount of memory.
type byteSize int64

// String, Set and Type make a byteSize a flag.
func (s *byteSize) String() string {
	if *s == 0 {
		return ""
	}
	return sizeText(int64(*s))
}

// Set reads a number of bytes, or of KiB, MiB or GiB.
func (s *byteSize) Set(text string) error {
	number, unit := text, int64(1)
	for suffix, n := range map[string]int64{"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30} {
		if before, ok := strings.CutSuffix(text, suffix); ok {
			number, unit = before, n
		}
	}
	n, err := strconv.ParseInt(strings.TrimSpace(number), 10, 64)
	if err != nil || n < 1 || n > (4<<30)/unit {
		return fmt.Errorf("write a size up to 4GiB, e.g. 64MiB")
	}
	*s = byteSize(n * unit)
	return nil
}

// Type is what the help shows as the flag's argument.
func (s *byteSize) Type() string { return "size" }

// sizeText writes a size for a person.
func sizeText(n int64) string {
	for _, u := range []struct {
		name string
		size int64
	}{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}} {
		if n >= u.size {
			text := strconv.FormatFloat(float64(n)/float64(u.size), 'f', 1, 64)
			return strings.TrimSuffix(text, ".0") + " " + u.name
		}
	}
	return strconv.FormatInt(n, 10) + " B"
}

// resultText shows a result as it is if it is text, and quoted if a terminal
// might act upon it.
func resultText(b []byte) string {
	s := string(b)
	odd := func(r rune) bool { return !unicode.IsGraphic(r) && r != '\n' && r != '\t' }
	if utf8.Valid(b) && strings.IndexFunc(s, odd) < 0 {
		return s
	}
	return strconv.Quote(s)
}

// logLine is one line that the guest logged.
type logLine struct {
	Level string `json:"level"`
	Text  string `json:"text"`
}

// guestLog keeps what the guest logs, and shows it as it comes if to is set.
// A run logs from one goroutine.
type guestLog struct {
	to    io.Writer
	lines []logLine
}

func (g *guestLog) logger() *slog.Logger { return slog.New(guestHandler{g}) }

// guestHandler makes a guestLog a slog.Handler. The attributes name the job and
// the item, which whoever runs one item knows.
type guestHandler struct{ log *guestLog }

func (h guestHandler) Enabled(context.Context, slog.Level) bool { return true }

func (h guestHandler) WithAttrs([]slog.Attr) slog.Handler { return h }

func (h guestHandler) WithGroup(string) slog.Handler { return h }

func (h guestHandler) Handle(_ context.Context, r slog.Record) error {
	text := r.Message
	r.Attrs(func(a slog.Attr) bool {
		text += " " + a.String()
		return true
	})
	level := strings.ToLower(r.Level.String())
	if r.Level < slog.LevelDebug {
		level = "trace"
	}
	h.log.lines = append(h.log.lines, logLine{level, text})
	if h.log.to == nil {
		return nil
	}
	if _, err := fmt.Fprintf(h.log.to, "%-5s %s\n", level, text); err != nil {
		return fmt.Errorf("show the log: %w", err)
	}
	return nil
}
