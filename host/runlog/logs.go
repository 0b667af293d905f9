// Package runlog keeps the last lines that guests log: for the row of their attempt, and
// for those who follow an attempt while it runs. The log of the server gets each line,
// too, with the run that it belongs to. It is not for the logs of the server itself, and
// stores nothing: what is gone from its memory is in the history.
package runlog

import (
	"log/slog"
	"sync"
	"time"
)

const (
	// maxEnded and maxEndedBytes bound the attempts that are remembered after their end,
	// so that a log can be followed until the history has it.
	maxEnded      = 256
	maxEndedBytes = 1 << 20
)

// Logs are the logs of the attempts that a server runs, and of the newest that have ended.
// The zero value has none.
type Logs struct {
	mu    sync.Mutex        // guards the fields below
	of    map[string]*Lines // of the newest attempt, by run
	ended []*Lines          // the newest last
	bytes int               // of ended
}

// Begin returns the log of an attempt of a run, and its lines. Each line also goes to the log of
// all guests, to. The caller calls End after the attempt. Nil Logs do not remember it.
func (l *Logs) Begin(to *slog.Logger, run string, attempt int) (*slog.Logger, *Lines) {
	lines := &Lines{run: run, attempt: attempt, began: time.Now()}
	if l != nil {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.of == nil {
			l.of = map[string]*Lines{}
		}
		l.of[run] = lines
	}
	return slog.New(handler{Handler: to.Handler(), of: lines}), lines
}

// End says that an attempt has ended. The oldest ended ones are forgotten.
func (l *Logs) End(lines *Lines) {
	lines.end()
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ended, l.bytes = append(l.ended, lines), l.bytes+lines.size()
	for len(l.ended) > maxEnded || l.bytes > maxEndedBytes {
		oldest := l.ended[0]
		l.ended[0] = nil
		l.ended, l.bytes = l.ended[1:], l.bytes-oldest.size()
		if l.of[oldest.run] == oldest { // else a newer attempt of the run has begun
			delete(l.of, oldest.run)
		}
	}
}

// Of returns the lines of the newest attempt of a run, which is named job/item/run; nil:
// this server does not run it, and did not of late.
func (l *Logs) Of(run string) *Lines {
	if l == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.of[run]
}
