package session

import (
	"context"
	"log/slog"
	"time"

	"github.com/wasmjob/wasmjob/host/registry"
)

// Loop is a Listener that reads what it hears in turns of a loop of its own.
type Loop interface {
	Listener
	// Turns counts how often the loop has taken what waited for it, and tells whether
	// something waits for the next time.
	Turns() (n uint64, waits bool)
	// Cut ends all that the job has running, without the loop, and calls done when
	// nothing of it is left. It must not block.
	Cut(done func())
}

// looksWithoutTurn is for how many looks in a row something may wait for the same
// turn: half of the time-out. They are counted, and not the time, because a
// process that was frozen has not wedged.
const looksWithoutTurn = looksPerTimeout / 2

// stalled is a loop for which something waits.
type stalled struct {
	turn  uint64
	looks int // since then
}

// watchLoops gives up the lines of loops that stand still. Else the session would
// keep their items from everybody for as long as the process lives, since its
// signs of life need no loop.
func (c *connected) watchLoops(ctx context.Context) {
	timeout := c.session.Timeout()
	if timeout <= 0 {
		return // nobody would take the items
	}
	again := time.NewTicker(timeout / looksPerTimeout)
	defer again.Stop()
	known := map[*Line]stalled{}
	for {
		select {
		case <-again.C:
		case <-c.ended:
			return
		case <-ctx.Done():
			return
		}
		known = c.waiting(known)
		for l, s := range known {
			if s.looks >= looksWithoutTurn {
				c.giveUp(l)
			}
		}
	}
}

// waiting are the lines for whose loops something waits.
func (c *connected) waiting(before map[*Line]stalled) map[*Line]stalled {
	now := map[*Line]stalled{}
	c.mu.RLock()
	defer c.mu.RUnlock()
	for _, of := range c.lines {
		for _, l := range of {
			loop, ok := l.listener.(Loop)
			if !ok {
				continue
			}
			turn, waits := loop.Turns()
			if !waits {
				continue
			}
			s := stalled{turn: turn}
			if b, ok := before[l]; ok && b.turn == turn {
				s.looks = b.looks + 1
			}
			now[l] = s
		}
	}
	return now
}

// giveUp ends a line as the end of the session would, without its loop: nothing
// of it begins any more, its guests end, and after the last of them its ephemeral
// nodes go, so that others take its items.
func (c *connected) giveUp(l *Line) {
	l.shut()
	c.mu.Lock()
	over := c.over
	if !over {
		c.drop(l) // with the lock held: it hears of one end, its own or the session's
		l.listener.Event(registry.Event{Kind: registry.Ended})
	}
	c.mu.Unlock()
	if over {
		return // it has heard so already, and its nodes are gone
	}
	c.say(func(log *slog.Logger) {
		log.Error("the loop of a job stands still; its guests are ended and its items left to other servers", "path", l.root, "session_timeout", c.session.Timeout().String())
	})
	l.listener.(Loop).Cut(l.Abandon)
}
