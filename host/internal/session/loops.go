package session

import (
	"context"
	"log/slog"
	"time"

	"github.com/wasmjob/wasmjob/host/registry"
)

// Loop is a Listener that queues its events and handles them in turns of its own
// loop.
type Loop interface {
	Listener
	// Turns returns how many turns the loop has begun, and whether events wait for
	// the next one.
	Turns() (n uint64, waits bool)
	// Cut ends all runs of the job without using the loop, and calls done when none
	// is left. It must not block.
	Cut(done func())
}

// checksWithoutTurn is after how many checks in a row, in which events waited and
// no turn began, a loop counts as stuck: half of the time-out. Checks are counted,
// not time, because a process that was frozen is not stuck.
const checksWithoutTurn = checksPerTimeout / 2

// stalledLoop is the state of a loop for which events wait.
type stalledLoop struct {
	turn   uint64 // number of turns that it has begun
	checks int    // checks since that turn
}

// watchLoops ends the job sessions of stuck loops, until the session or ctx ends. The
// session's keep-alives need no loop, so the job would otherwise keep its items for as long
// as the process lives.
func (c *openSession) watchLoops(ctx context.Context) {
	timeout := c.session.Timeout()
	if timeout <= 0 {
		return // without a time-out no other server takes the items
	}
	again := time.NewTicker(timeout / checksPerTimeout)
	defer again.Stop()
	known := map[*Job]stalledLoop{}
	for {
		if !c.awaitTick(ctx, again.C) {
			return
		}
		known = c.stalledLoops(known)
		for j, s := range known {
			if s.checks >= checksWithoutTurn {
				c.endStuck(j)
			}
		}
	}
}

// awaitTick waits for a tick. It returns false if the session or ctx ended first.
func (c *openSession) awaitTick(ctx context.Context, tick <-chan time.Time) bool {
	select {
	case <-tick:
		return true
	case <-c.ended:
	case <-ctx.Done():
	}
	return false
}

// stalledLoops returns the job sessions for whose loops events wait. before is the result of
// the last call, from which it counts the checks without a turn.
func (c *openSession) stalledLoops(before map[*Job]stalledLoop) map[*Job]stalledLoop {
	now := map[*Job]stalledLoop{}
	c.mu.RLock()
	defer c.mu.RUnlock()
	for j := range c.eachJob() {
		loop, ok := j.listener.(Loop)
		if !ok {
			continue
		}
		turn, waits := loop.Turns()
		if !waits {
			continue
		}
		s := stalledLoop{turn: turn}
		if b, ok := before[j]; ok && b.turn == turn {
			s.checks = b.checks + 1
		}
		now[j] = s
	}
	return now
}

// endStuck ends a job session as the end of the whole session would, without using
// the job's loop: new requests are refused, the guests end, and after the last of
// them the ephemeral nodes are deleted, so that other servers take the items.
func (c *openSession) endStuck(j *Job) {
	j.refuseRequests()
	c.mu.Lock()
	over := c.over
	if !over {
		c.removeJobLocked(j) // under the lock, so that the listener receives one Ended: this one or the session's
		j.listener.Event(registry.Event{Kind: registry.Ended})
	}
	c.mu.Unlock()
	if over {
		return // the listener has received Ended, and the service deletes the nodes
	}
	c.logLater(func(log *slog.Logger) {
		log.Error("the loop of a job is stuck; its guests are ended and its items left to other servers", "path", j.root, "session_timeout", c.session.Timeout().String())
	})
	j.listener.(Loop).Cut(j.Abandon)
}
