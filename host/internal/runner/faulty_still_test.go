package runner

import (
	"context"
	"log/slog"
	"strings"
	"sync"
)

// stiller is a job's log that can block the job's loop at a line. A real log must not
// block.
type stiller struct {
	slog.Handler
	gate *turnstile
}

// turnstile blocks a loop while it is shut.
type turnstile struct {
	mu        sync.Mutex    // guards the fields below
	shut      chan struct{} // nil if it is open
	at        string        // the line of the log that blocks
	abandoned bool          // the loop has left something behind, or its session may have been given up
}

// The log lines at which a loop can stand still.
const (
	atCommit  = "commit"
	atUnknown = "the outcome of a commit is unknown"
)

func (g *turnstile) close(at string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.at, g.abandoned = at, true; g.shut == nil {
		g.shut = make(chan struct{})
	}
}

func (g *turnstile) open() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.shut != nil {
		close(g.shut)
		g.shut = nil
	}
}

// pass blocks while the turnstile is shut at the line.
func (g *turnstile) pass(line string) {
	g.mu.Lock()
	shut := g.shut
	if line != g.at {
		shut = nil
	}
	g.abandoned = g.abandoned || strings.HasPrefix(line, "nodes of the job are still in the registry; they are deleted as soon as")
	g.mu.Unlock()
	if shut != nil {
		<-shut
	}
}

// renew resets the turnstile for a server that starts.
func (g *turnstile) renew() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.abandoned = g.shut != nil
}

func (g *turnstile) isAbandoned() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.abandoned
}

func (h stiller) Enabled(context.Context, slog.Level) bool { return true }

func (h stiller) WithAttrs(attrs []slog.Attr) slog.Handler {
	return stiller{h.Handler.WithAttrs(attrs), h.gate}
}

func (h stiller) WithGroup(name string) slog.Handler {
	return stiller{h.Handler.WithGroup(name), h.gate}
}

func (h stiller) Handle(ctx context.Context, r slog.Record) error {
	h.gate.pass(r.Message)
	if !h.Handler.Enabled(ctx, r.Level) {
		return nil
	}
	return h.Handler.Handle(ctx, r)
}
