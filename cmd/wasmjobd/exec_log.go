package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
)

// logLine is one line of the guest's log.
type logLine struct {
	Level string `json:"level"`
	Text  string `json:"text"`
}

// guestLog keeps the guest's log and, if to is set, also shows it as it comes.
type guestLog struct {
	to io.Writer

	mu    sync.Mutex // guards the fields below: parts of a batch log concurrently
	lines []logLine
}

// kept returns all lines as a list that is not nil.
func (g *guestLog) kept() []logLine {
	g.mu.Lock()
	defer g.mu.Unlock()
	return append([]logLine{}, g.lines...)
}

// logger returns the logger to which the guest logs.
func (g *guestLog) logger() *slog.Logger { return slog.New(guestHandler{g}) }

// guestHandler is a slog.Handler that writes to a guestLog. It leaves out the attributes of WithAttrs:
// job and item are known when one item is run.
type guestHandler struct{ log *guestLog }

func (h guestHandler) Enabled(context.Context, slog.Level) bool { return true }

// WithAttrs drops the attributes, which are those of job and item.
func (h guestHandler) WithAttrs([]slog.Attr) slog.Handler { return h }

func (h guestHandler) WithGroup(string) slog.Handler { return h }

// Handle adds the record as one line, with its own attributes. Levels below debug are the guest's trace.
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
	h.log.mu.Lock()
	defer h.log.mu.Unlock()
	h.log.lines = append(h.log.lines, logLine{level, text})
	if h.log.to == nil {
		return nil
	}
	if _, err := fmt.Fprintf(h.log.to, "%-5s %s\n", level, text); err != nil {
		return fmt.Errorf("show the log: %w", err)
	}
	return nil
}
